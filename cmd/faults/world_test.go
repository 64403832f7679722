//go:build linux

package faults

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"comporta/service/credential"
)

// world is a service with a cluster of two members, all processes of their own.
type world struct {
	dir     string
	data    string // the service's folder; with a network a small file system, which can be filled
	flags   []string
	metrics string // where the service's figures are, when its flags ask for them
	net     *network
	db      *database
	service *process
	url     string
	address string // what the service listens on; the same after a restart
	adminID string
	cluster string
	source  string
	members []*member
	client  *http.Client
	tls     *certificate // nil on loopback
	clocks  bool         // every process has a clock of its own
	clock   *clock       // the service's

	mu    sync.Mutex
	token string
}

// dataSize is the size of the file system that the service writes to.
const dataSize = "48m"

// newWorld makes a world in which all is well. network may be nil: then everything is on loopback, and faults of the network cannot be had.
// With clocks, every process has a clock of its own.
func newWorld(network *network, db *database, clocks bool) (*world, error) {
	w, err := newService(network, db, clocks)
	if err != nil {
		return nil, err
	}
	if err := w.populate(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// newService makes a world without members. flags are more of the service's.
func newService(network *network, db *database, clocks bool, flags ...string) (*world, error) {
	dir, err := os.MkdirTemp("", "comporta-world-")
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir, data: filepath.Join(dir, "data"), flags: flags, net: network, db: db, clocks: clocks, address: "127.0.0.1:0", adminID: uuid.NewString()}
	if err := all(w.disk, w.encrypt, w.wind, w.serve); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// disk makes the service's folder, and in it a small file system where there may be one.
func (w *world) disk() error {
	if err := os.Mkdir(w.data, 0o700); err != nil || w.net == nil {
		return err
	}
	w.address = net.JoinHostPort(w.net.service.String(), "0")
	return unix.Mount("tmpfs", w.data, "tmpfs", 0, "size="+dataSize)
}

// encrypt readies the callers, and a certificate where requests cross a line.
func (w *world) encrypt() (err error) {
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	w.client = &http.Client{Transport: transport, Timeout: 5 * time.Minute}
	if w.net == nil {
		return nil
	}
	if w.tls, err = newCertificate(w.dir, w.net.service); err == nil {
		transport.TLSClientConfig = w.tls.trust
	}
	return err
}

// trust are the flags with which a member believes the service.
func (w *world) trust() []string {
	if w.tls == nil {
		return nil
	}
	return []string{"--ca-file", w.tls.cert}
}

// wind sets the service's clock going, if it has its own.
func (w *world) wind() (err error) {
	w.clock, err = w.newClock("service")
	return err
}

// newClock makes a clock for a process of this world, if processes have their own here.
func (w *world) newClock(name string) (*clock, error) {
	if !w.clocks {
		return nil, nil
	}
	return newClock(filepath.Join(w.dir, name+".clock"))
}

// populate makes the cluster with its two members and the data source.
func (w *world) populate() error {
	for _, name := range []string{"one", "two"} {
		m, err := w.newMember(name)
		if err != nil {
			return err
		}
		if err := m.start(); err != nil {
			return err
		}
	}
	return all(w.register, w.live)
}

func (w *world) close() {
	for _, m := range w.members {
		m.close()
	}
	if w.service != nil {
		w.service.kill()
	}
	if w.client != nil {
		w.client.CloseIdleConnections()
	}
	if w.net != nil {
		_ = unix.Unmount(w.data, unix.MNT_DETACH)
	}
	os.RemoveAll(w.dir)
}

// serve starts the service and logs in.
func (w *world) serve() (err error) {
	args := append([]string{"serve", "--listen", w.address, "--data", w.data, "--token-lifetime", "24h", "--shutdown-timeout", "20s"}, w.flags...)
	if w.tls != nil {
		args = append(args, "--tls-cert", w.tls.cert, "--tls-key", w.tls.key)
	}
	w.service, err = launch(nil, w.clock, []string{"COMPORTA_ADMIN_ID=" + w.adminID, "COMPORTA_ADMIN_SECRET=" + adminSecret}, args...)
	if err != nil {
		return err
	}
	address, err := w.service.expect(`listening on (\S+)`)
	if err == nil && len(w.flags) > 0 {
		w.metrics, err = w.service.expect(`serving metrics" address=(\S+)`)
	}
	if err != nil || w.url != "" { // callers read the address while the service starts again; it is the same then
		return errors.Join(err, w.login())
	}
	at, err := url.Parse(address)
	if err != nil {
		return err
	}
	w.url, w.address = address, at.Host
	return w.login()
}

// login takes a new token and uses it from now on.
func (w *world) login() error {
	token, err := w.issue()
	if err == nil {
		w.use(token)
	}
	return err
}

// issue takes a new token.
func (w *world) issue() (string, error) {
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {w.adminID}, "client_secret": {adminSecret}}
	resp, err := w.client.PostForm(w.url+"/oauth2/v2.0/token", form)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.AccessToken == "" {
		return "", fmt.Errorf("no token: %d, %w", resp.StatusCode, err)
	}
	return answer.AccessToken, nil
}

func (w *world) use(token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.token = token
}

func (w *world) bearer() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return "Bearer " + w.token
}

// send sends a request and returns the open answer.
func (w *world) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, w.url+"/v2.0/myorg/gatewayClusters/"+w.cluster+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", w.bearer())
	req.Header.Set("Content-Type", "application/json")
	return w.client.Do(req)
}

// call sends a request that must succeed, and decodes the answer.
func (w *world) call(method, path string, body, answer any) error {
	resp, err := w.send(context.Background(), method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// register makes the data source, with credentials that only members can open.
func (w *world) register() error {
	var cluster struct {
		PublicKey struct{ Modulus, Exponent []byte }
	}
	if err := w.call("GET", "", nil, &cluster); err != nil {
		return err
	}
	public := credential.Public{Modulus: cluster.PublicKey.Modulus, Exponent: cluster.PublicKey.Exponent}
	envelope, err := credential.Seal(public, credential.Basic(w.db.name, dbPassword), rand.Reader)
	if err != nil {
		return err
	}
	var made struct{ ID string }
	err = w.call("POST", "/datasources", map[string]any{"datasourceType": "PostgreSql", "datasourceName": "db", "connectionDetails": w.db.details(),
		"credentialDetails": map[string]any{"credentialType": "Basic", "credentials": envelope, "encryptionAlgorithm": "RSA-OAEP",
			"encryptedConnection": "NotEncrypted", "privacyLevel": "None"}}, &made)
	w.source = made.ID
	return err
}

// standing is a member as the service sees it. The limit is the one that the machine reports.
type standing struct {
	Name, Status string
	Limit        int `json:"concurrentOperationLimit"`
}

// usualLimit is the concurrency limit of a member that nobody changed.
const usualLimit = 40

func (s standing) well() bool { return s.Status == "Live" && s.Limit == usualLimit }

// standings are the members by name.
func (w *world) standings() (map[string]standing, error) {
	var list struct{ Value []standing }
	if err := w.call("GET", "/memberGateways", nil, &list); err != nil {
		return nil, err
	}
	byName := map[string]standing{}
	for _, m := range list.Value {
		byName[m.Name] = m
	}
	return byName, nil
}

// live waits until every member is there, as if nothing had happened.
func (w *world) live() error {
	var last any
	err := until("all members are well", func() bool {
		now, err := w.standings()
		last = errors.Join(err, fmt.Errorf("%v", now))
		for _, m := range w.members {
			if err != nil || !now[m.name].well() {
				return false
			}
		}
		return true
	})
	if err != nil {
		err = fmt.Errorf("%w; last: %v", err, last)
	}
	return err
}

// mode sets how the cluster balances.
func (w *world) mode(mode string) error {
	return w.call("PATCH", "", map[string]any{"loadBalancingSelectorType": mode}, nil)
}

// set changes a member.
func (w *world) set(m *member, change map[string]any) error {
	return w.call("PATCH", "/memberGateways/"+m.id, change, nil)
}
