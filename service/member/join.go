package member

import (
	"context"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"

	"comporta/service/gateway"
	"comporta/service/recovery"
)

// JoinRequest says what to join and with which rights: an enrolment token, or a client id and secret with either NewCluster or ClusterID.
type JoinRequest struct {
	// Server is the service's address, http or https; StateDir the folder to write.
	Server, StateDir string
	// Name is the member's name; with NewCluster the member is the cluster's first.
	Name        string
	NewCluster  string
	Description string
	Region      string
	ClusterID   gateway.ID

	ClientID, ClientSecret string
	EnrolmentToken         string
	RecoveryKey            string
	// Overwrite takes over the member of that name with the recovery key, and replaces a state that is in the folder. Where there is no
	// such member in ClusterID, or no cluster NewCluster, a new one is made, unless MustExist refuses that.
	Overwrite, MustExist bool

	// HTTP speaks to the service; nil is one with a time-out of a minute. Redirects are not followed, whatever it says.
	HTTP             *http.Client
	Version, Machine string
	// CAFile is kept with the state, for whoever runs the member: the file of certificate authorities that HTTP trusts besides the system's.
	CAFile string
	// Random yields the machine's own key; nil is the system's secure source.
	Random io.Reader
	// Log takes warnings; nil discards them.
	Log *slog.Logger
}

// String hides the secrets.
func (r JoinRequest) String() string {
	return fmt.Sprintf("[join of %q at %s]", r.Name, r.Server)
}

// GoString hides the secrets.
func (r JoinRequest) GoString() string { return r.String() }

// Join makes this machine a member, writes its state folder and returns what is in it. A join that fails leaves no state behind, and a
// folder that held one already as it was. Errors say what to do; a *gateway.Error in one carries the service's code.
func Join(ctx context.Context, r JoinRequest) (*State, error) {
	server, err := r.check()
	if err != nil {
		return nil, err
	}
	release, err := reserve(r.StateDir)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := r.vacant(); err != nil {
		return nil, err
	}
	c := newClient(r.HTTP, server)
	r.warn(server)
	s, err := join(ctx, c, r)
	if err != nil {
		return nil, err
	}
	s.CAFile = r.CAFile
	if err := s.Save(r.StateDir); err != nil {
		return nil, fmt.Errorf("the service has taken this machine as member %s, but its keys are lost: %w; join again with --overwrite", s.MemberID, err)
	}
	return s, nil
}

// join talks to the service; nothing is written.
func join(ctx context.Context, c *client, r JoinRequest) (*State, error) {
	if r.EnrolmentToken != "" {
		return enrol(ctx, c, r)
	}
	if err := c.login(ctx, r.ClientID, r.ClientSecret); err != nil {
		return nil, err
	}
	token, err := c.invite(ctx, r)
	if err != nil {
		return nil, err
	}
	c.bearer = "" // the enrolment is this machine's, not the caller's
	r.EnrolmentToken = token
	s, err := enrol(ctx, c, r)
	if err != nil {
		return nil, fmt.Errorf("%w; the service knows the member %q by now, so join again with --overwrite", err, r.Name)
	}
	return s, nil
}

func (r *JoinRequest) check() (*url.URL, error) {
	server, err := parseServer(r.Server)
	if err != nil {
		return nil, err
	}
	if err := recovery.ValidateKey([]byte(r.RecoveryKey)); err != nil {
		return nil, err
	}
	if r.EnrolmentToken != "" {
		return server, nil
	}
	switch {
	case r.ClientID == "" || r.ClientSecret == "":
		err = errors.New("joining takes an enrolment token, or a client id and secret in COMPORTA_CLIENT_ID and COMPORTA_CLIENT_SECRET")
	case (r.NewCluster == "") == (r.ClusterID == ""):
		err = errors.New("say either --new-cluster NAME or --cluster ID")
	case r.Name == "":
		err = errors.New("say the member's --name")
	}
	return server, err
}

// vacant refuses a folder that holds a member already. It is asked while the folder is claimed.
func (r *JoinRequest) vacant() error {
	held, err := Exists(r.StateDir)
	if err == nil && held && !r.Overwrite {
		err = fmt.Errorf("%s already holds a member; choose another --state, or add --overwrite to replace it", r.StateDir)
	}
	return err
}

// warn says when the recovery key would travel in clear text.
func (r *JoinRequest) warn(server *url.URL) {
	ip := net.ParseIP(server.Hostname())
	if r.Log != nil && server.Scheme == "http" && server.Hostname() != "localhost" && !ip.IsLoopback() {
		r.Log.Warn("the service is spoken to without TLS: whoever listens on the network learns the recovery key", "server", server.Host)
	}
}

// parseServer reads the address of a service. It holds no user name or password, because it is shown and stored.
func parseServer(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the server must be an address such as https://gateway.example.com")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the server's address takes no user name, password, query or fragment")
	}
	return u, nil
}

// begun is the answer to /enrolment/begin.
type begun struct {
	Salt    []byte `json:"salt"`
	Time    uint32 `json:"time"`
	Memory  uint32 `json:"memory"`
	Threads uint8  `json:"threads"`
}

// completed is the answer to /enrolment/complete.
type completed struct {
	ClusterID   gateway.ID `json:"clusterId"`
	ClusterName string     `json:"clusterName"`
	MemberID    gateway.ID `json:"memberId"`
	MemberName  string     `json:"memberName"`
	Key         struct {
		Modulus  []byte `json:"modulus"`
		Exponent []byte `json:"exponent"`
		Sealed   []byte `json:"sealed"`
	} `json:"key"`
}

// key is what the recovery key's secrets are derived with.
func (b begun) key() gateway.ClusterKey {
	return gateway.ClusterKey{Salt: b.Salt, Time: b.Time, Memory: b.Memory, Threads: b.Threads}
}

// enrol proves knowledge of the recovery key without sending it, and unseals the cluster's private key on this machine.
func enrol(ctx context.Context, c *client, r JoinRequest) (*State, error) {
	var b begun
	if err := c.post(ctx, "/enrolment/begin", map[string]any{"enrolmentToken": r.EnrolmentToken}, &b); err != nil {
		return nil, err
	}
	secrets, err := recovery.Derive([]byte(r.RecoveryKey), b.key())
	if err != nil {
		return nil, fmt.Errorf("the service's answer cannot be used: %w", err)
	}
	defer secrets.Wipe()
	public, private, err := ed25519.GenerateKey(r.Random)
	if err != nil {
		return nil, fmt.Errorf("make this machine's key: %w", err)
	}
	var done completed
	err = c.post(ctx, "/enrolment/complete", map[string]any{"enrolmentToken": r.EnrolmentToken, "verifier": secrets.Verifier,
		"publicKey": []byte(public), "version": r.Version, "machine": r.Machine}, &done)
	if err != nil {
		return nil, err
	}
	s := &State{Server: c.server, ClusterID: done.ClusterID, ClusterName: done.ClusterName, MemberID: done.MemberID, MemberName: done.MemberName, Key: private}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("the service's answer cannot be used: %w", err)
	}
	s.ClusterKey, err = done.unseal(secrets)
	return s, err
}

// unseal opens the cluster's private key. The service has taken the verifier, so the secrets it came with are those that the key was sealed
// with.
func (c *completed) unseal(secrets recovery.Secrets) (*rsa.PrivateKey, error) {
	private, err := secrets.Open(gateway.ClusterKey{Modulus: c.Key.Modulus, Exponent: c.Key.Exponent, Sealed: c.Key.Sealed})
	if err != nil {
		return nil, fmt.Errorf("the cluster's key cannot be unsealed: %w", err)
	}
	return private, nil
}
