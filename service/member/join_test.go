package member

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"comporta/service/gateway"
	"comporta/service/recovery"
)

const (
	testRecoveryKey = "schlüssel-für-alle"
	testToken       = "one-time-token"
	testSecret      = "client-secret-value"
)

// bureau plays the service's public API for one cluster, with the real recovery key arithmetic behind it.
type bureau struct {
	*httptest.Server
	key gateway.ClusterKey
	// answers replace the real answer of a path.
	answers map[string]http.HandlerFunc

	mu       sync.Mutex
	asked    []string
	bodies   map[string]map[string]any
	enrolled ed25519.PublicKey
}

// cheapKey seals a cluster key once for all tests, at the least cost that Argon2id takes.
var cheapKey = sync.OnceValues(func() (gateway.ClusterKey, error) {
	return recovery.New([]byte(testRecoveryKey), rand.Reader, recovery.Cost{Time: 1, Memory: 64, Threads: 1}, 2048)
})

func newBureau(t *testing.T) *bureau {
	t.Helper()
	key, err := cheapKey()
	if err != nil {
		t.Fatal(err)
	}
	b := &bureau{key: key, answers: map[string]http.HandlerFunc{}, bodies: map[string]map[string]any{}}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *bureau) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, req.URL.Path)
	if answer := b.answers[req.URL.Path]; answer != nil {
		answer(w, req)
		return
	}
	body := map[string]any{}
	if req.URL.Path != "/oauth2/v2.0/token" {
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
			complain(w, 400, "InvalidInput", err.Error())
			return
		}
		b.bodies[req.URL.Path] = body
	}
	switch req.URL.Path {
	case "/oauth2/v2.0/token":
		b.token(w, req)
	case "/enrolment/begin":
		reply(w, 200, b.cost())
	case "/enrolment/complete":
		b.complete(w, body)
	default:
		b.invite(w, req)
	}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func complain(w http.ResponseWriter, status int, code, message string) {
	reply(w, status, map[string]any{"error": map[string]any{"code": code, "message": message}})
}

func (b *bureau) token(w http.ResponseWriter, req *http.Request) {
	if req.FormValue("grant_type") != "client_credentials" || req.FormValue("client_id") != "app" || req.FormValue("client_secret") != testSecret {
		reply(w, 401, map[string]string{"error": "invalid_client", "error_description": "The client id or secret is wrong."})
		return
	}
	reply(w, 200, map[string]any{"access_token": "bearer", "token_type": "Bearer", "expires_in": 3600})
}

func (b *bureau) invite(w http.ResponseWriter, req *http.Request) {
	if req.Header.Get("Authorization") != "Bearer bearer" {
		complain(w, 401, "InvalidToken", "There is no token.")
		return
	}
	reply(w, 201, map[string]any{"id": "x", "enrolmentToken": testToken})
}

func (b *bureau) cost() map[string]any {
	return map[string]any{"salt": b.key.Salt, "time": b.key.Time, "memory": b.key.Memory, "threads": b.key.Threads}
}

func (b *bureau) complete(w http.ResponseWriter, body map[string]any) {
	verifier, _ := base64.StdEncoding.DecodeString(fmt.Sprint(body["verifier"]))
	public, _ := base64.StdEncoding.DecodeString(fmt.Sprint(body["publicKey"]))
	switch {
	case body["enrolmentToken"] != testToken:
		complain(w, 400, "InvalidEnrolmentToken", "The enrolment token is not known.")
	case !recovery.CheckVerifier(b.key, verifier):
		complain(w, 403, "InvalidRecoveryKey", "The recovery key is wrong.")
	default:
		b.enrolled = public
		key := b.cost()
		maps.Copy(key, map[string]any{"modulus": b.key.Modulus, "exponent": b.key.Exponent, "sealed": b.key.Sealed})
		reply(w, 200, map[string]any{"clusterId": "11111111-1111-1111-1111-11111111111A", "clusterName": "Süd",
			"memberId": "22222222-2222-2222-2222-222222222222", "memberName": "m1", "key": key})
	}
}

// request is a join with an application's rights that is right in every way.
func (b *bureau) request(t *testing.T) JoinRequest {
	return JoinRequest{Server: b.URL + "/", StateDir: filepath.Join(t.TempDir(), "state"), Name: "m1", NewCluster: "Süd", ClientID: "app", ClientSecret: testSecret,
		RecoveryKey: testRecoveryKey, Version: "1.2", Machine: "box", Random: rand.Reader}
}

func TestJoiningANewCluster(t *testing.T) {
	b := newBureau(t)
	r := b.request(t)
	r.Description, r.Region = "d", "westeurope"
	s, err := Join(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if s.Server != b.URL || s.ClusterID != "11111111-1111-1111-1111-11111111111a" || s.ClusterName != "Süd" || s.MemberName != "m1" {
		t.Errorf("got %+v", s)
	}
	want := map[string]any{"name": "Süd", "memberName": "m1", "recoveryKey": testRecoveryKey, "description": "d", "region": "westeurope", "overwriteExistingGateway": false} // a service of before knows no mustExist
	if got := b.bodies["/v2.0/myorg/gatewayClusters"]; !maps.Equal(got, want) {
		t.Errorf("sent %v", got)
	}
	if got := b.bodies["/enrolment/complete"]; got["version"] != "1.2" || got["machine"] != "box" || got["recoveryKey"] != nil {
		t.Errorf("sent %v", got)
	}
	loaded, err := Load(r.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	if !loaded.Key.Public().(ed25519.PublicKey).Equal(b.enrolled) || string(loaded.ClusterKey.N.Bytes()) != string(b.key.Modulus) {
		t.Error("the keys in the folder are not those of the enrolment")
	}
	for _, name := range []string{memberFile, memberKeyFile, clusterFile} {
		text, err := os.ReadFile(filepath.Join(r.StateDir, name))
		if err != nil || strings.Contains(string(text), testRecoveryKey) || strings.Contains(string(text), testSecret) {
			t.Errorf("%s holds what it must not, or cannot be read: %v", name, err)
		}
	}
}

func TestJoiningAClusterThatIsThere(t *testing.T) {
	b := newBureau(t)
	r := b.request(t)
	r.NewCluster, r.ClusterID, r.Name = "", "33333333-3333-3333-3333-333333333333", "m2"
	if _, err := Join(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "m2", "recoveryKey": testRecoveryKey, "overwriteExistingGateway": false} // a service of before knows no mustExist
	if got := b.bodies["/v2.0/myorg/gatewayClusters/33333333-3333-3333-3333-333333333333/memberGateways"]; !maps.Equal(got, want) {
		t.Errorf("sent %v", got)
	}
}

func TestJoiningWithAnEnrolmentToken(t *testing.T) {
	b := newBureau(t)
	r := b.request(t)
	r.ClientID, r.ClientSecret, r.NewCluster, r.Name, r.EnrolmentToken = "", "", "", "", testToken
	if _, err := Join(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(b.asked, []string{"/enrolment/begin", "/enrolment/complete"}) {
		t.Errorf("asked %v", b.asked)
	}
}

// To derive takes as long as the cluster's cost says, on purpose. A second time would find a cost here that is out of bounds.
func TestAJoinDerivesOnce(t *testing.T) {
	b := newBureau(t)
	b.answers["/enrolment/begin"] = func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, b.cost())
		b.key.Memory = 1 << 31
	}
	s, err := Join(t.Context(), b.request(t))
	if err != nil {
		t.Fatal(err)
	}
	if new(big.Int).SetBytes(b.key.Modulus).Cmp(s.ClusterKey.N) != 0 {
		t.Error("the key is not the cluster's")
	}
}

func TestAJoinThatFailsLeavesNothingAndSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*bureau, *JoinRequest)
		code   gateway.Code
		words  []string
	}{
		{"wrong secret", func(_ *bureau, r *JoinRequest) { r.ClientSecret = "wrong" }, gateway.CodeInvalidClient, []string{"invalid_client", "COMPORTA_CLIENT_SECRET"}},
		{"wrong recovery key", func(_ *bureau, r *JoinRequest) { r.RecoveryKey = "not-the-right-one" }, gateway.CodeRecoveryKeyWrong, []string{"InvalidRecoveryKey", "--overwrite"}},
		{"bad token", func(_ *bureau, r *JoinRequest) { r.EnrolmentToken = "used" }, gateway.CodeEnrolmentInvalid, []string{"not known"}},
		{"name taken", func(b *bureau, _ *JoinRequest) {
			b.answers["/v2.0/myorg/gatewayClusters"] = func(w http.ResponseWriter, _ *http.Request) {
				complain(w, 409, "DuplicateGatewayName", "There is one already.\x1b[31m")
			}
		}, gateway.CodeDuplicateClusterName, []string{"There is one already. [31m", "--overwrite"}},
		{"damaged key", func(b *bureau, _ *JoinRequest) {
			b.key.Sealed = slices.Clone(b.key.Sealed)
			b.key.Sealed[40] ^= 1
		}, gateway.CodeInternal, []string{"cannot be unsealed"}},
		{"absurd cost", func(b *bureau, _ *JoinRequest) { b.key.Memory = 1 << 31 }, gateway.CodeInvalid, []string{"cannot be used"}},
		{"not ours", answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }), "", []string{"check the address"}},
		{"no reason", answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }), "", []string{"502"}},
		{"endless", answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.CopyN(w, zeros{}, 8<<20) }), "", []string{"check the address"}},
		{"empty", answer(func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, map[string]any{}) }), "", []string{"check the address"}},
		{"nobody there", func(b *bureau, _ *JoinRequest) { b.Close() }, "", []string{"cannot be reached", "is the service running"}},
		{"not an address", func(_ *bureau, r *JoinRequest) { r.Server = "gateway:8085" }, "", []string{"https://"}},
		{"password in the address", func(_ *bureau, r *JoinRequest) { r.Server = "http://u:p@host" }, "", []string{"takes no user name"}},
		{"short recovery key", func(_ *bureau, r *JoinRequest) { r.RecoveryKey = "short" }, gateway.CodeInvalid, []string{"8 characters"}},
		{"no rights", func(_ *bureau, r *JoinRequest) { r.ClientID = "" }, "", []string{"COMPORTA_CLIENT_ID"}},
		{"no target", func(_ *bureau, r *JoinRequest) { r.NewCluster = "" }, "", []string{"--new-cluster"}},
		{"no name", func(_ *bureau, r *JoinRequest) { r.Name = "" }, "", []string{"--name"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBureau(t)
			r := b.request(t)
			c.change(b, &r)
			_, err := Join(context.Background(), r)
			if err == nil {
				t.Fatal("it joined")
			}
			for _, word := range c.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q is not in: %v", word, err)
				}
			}
			if c.code != "" && !gateway.IsCode(err, c.code) {
				t.Errorf("want %s: %v", c.code, err)
			}
			for _, secret := range []string{r.RecoveryKey, r.ClientSecret} {
				if strings.Contains(err.Error(), secret) && secret != "short" && secret != "wrong" {
					t.Errorf("a secret is in: %v", err)
				}
			}
			if _, err := os.Stat(r.StateDir); !os.IsNotExist(err) {
				t.Errorf("something is left behind: %v", err)
			}
		})
	}
}

// answer lets the token endpoint answer so.
func answer(how http.HandlerFunc) func(*bureau, *JoinRequest) {
	return func(b *bureau, _ *JoinRequest) { b.answers["/oauth2/v2.0/token"] = how }
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestSecretsFollowNoRedirect(t *testing.T) {
	var reached bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer elsewhere.Close()
	b := newBureau(t)
	b.answers["/oauth2/v2.0/token"] = func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, elsewhere.URL+"/x", http.StatusTemporaryRedirect)
	}
	_, err := Join(context.Background(), b.request(t))
	if err == nil || !strings.Contains(err.Error(), "redirects to "+elsewhere.URL) || reached {
		t.Errorf("reached: %v, %v", reached, err)
	}
}

func TestAnUnknownAuthorityIsNamed(t *testing.T) {
	b := newBureau(t)
	secure := httptest.NewTLSServer(b)
	defer secure.Close()
	r := b.request(t)
	r.Server = secure.URL
	if _, err := Join(context.Background(), r); err == nil || !strings.Contains(err.Error(), "--ca-file") {
		t.Errorf("got %v", err)
	}
	r.HTTP = secure.Client()
	if _, err := Join(context.Background(), r); err != nil {
		t.Errorf("with the authority: %v", err)
	}
}

func TestAStateIsOnlyOverwrittenWhenAsked(t *testing.T) {
	b := newBureau(t)
	r := b.request(t)
	first, err := Join(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	asked := len(b.asked)
	if _, err := Join(context.Background(), r); err == nil || !strings.Contains(err.Error(), "--overwrite") {
		t.Errorf("got %v", err)
	}
	if len(b.asked) != asked {
		t.Error("the service was asked although the folder is taken")
	}
	r.Overwrite, r.RecoveryKey = true, "not-the-right-one"
	if _, err := Join(context.Background(), r); err == nil {
		t.Error("a wrong recovery key joined")
	}
	if kept, err := Load(r.StateDir); err != nil || !kept.Key.Equal(first.Key) {
		t.Errorf("the failed join harmed the state: %v", err)
	}
	r.RecoveryKey = testRecoveryKey
	if _, err := Join(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if now, err := Load(r.StateDir); err != nil || now.Key.Equal(first.Key) {
		t.Errorf("the state was not replaced: %v", err)
	}
	if b.bodies["/v2.0/myorg/gatewayClusters"]["overwriteExistingGateway"] != true {
		t.Error("the service was not told to overwrite")
	}
}

func TestNothingIsAskedWhenTheFolderCannotBeMade(t *testing.T) {
	b := newBureau(t)
	r := b.request(t)
	if err := os.WriteFile(r.StateDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Join(context.Background(), r); err == nil || len(b.asked) != 0 {
		t.Errorf("asked %v, %v", b.asked, err)
	}
}

// Two joins at once would leave a member that no machine runs, and a join under a running member would take its keys away.
func TestAFolderIsJoinedByOneProcess(t *testing.T) {
	b := newBureau(t)
	r := b.request(t)
	if err := os.MkdirAll(r.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	release, err := Claim(r.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	r.Overwrite = true
	if _, err := Join(context.Background(), r); err == nil || len(b.asked) != 0 || !strings.Contains(err.Error(), "another process") {
		t.Errorf("asked %v, %v", b.asked, err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := Join(context.Background(), r); err != nil {
		t.Error(err)
	}
	if _, err := Claim(r.StateDir); err != nil {
		t.Errorf("the join keeps its claim: %v", err)
	}
}

// A join that fails takes folder and lock away again, and neither from under another one.
func TestAFolderHasOneOwnerWhateverFails(t *testing.T) {
	for range 100 {
		dir := filepath.Join(t.TempDir(), "state")
		var owners atomic.Int64
		var joins sync.WaitGroup
		for range 8 {
			joins.Go(func() {
				for range 5 {
					ownForAMoment(t, dir, &owners)
				}
			})
		}
		joins.Wait()
		if t.Failed() {
			return
		}
	}
}

func ownForAMoment(t *testing.T, dir string, owners *atomic.Int64) {
	release, err := reserve(dir)
	if err != nil {
		if !strings.Contains(err.Error(), "another process") {
			t.Error(err)
		}
		return
	}
	if n := owners.Add(1); n != 1 {
		t.Errorf("%d owners", n)
	}
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil {
		t.Errorf("an owner without a lock: %v", err)
	}
	owners.Add(-1)
	release()
}

// A folder that cannot be looked into is not an empty one.
func TestAFolderThatCannotBeReadIsNotEmpty(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("got %v", err)
	}
}

func TestAJoinRequestPrintsNoSecret(t *testing.T) {
	r := JoinRequest{Name: "m1", ClientSecret: testSecret, RecoveryKey: testRecoveryKey, EnrolmentToken: testToken}
	for _, text := range []string{fmt.Sprint(r), fmt.Sprintf("%+v", r), fmt.Sprintf("%#v", r)} {
		if strings.Contains(text, testSecret) || strings.Contains(text, testRecoveryKey) || strings.Contains(text, testToken) {
			t.Error(text)
		}
	}
}

func FuzzDecodeRefusal(f *testing.F) {
	f.Add([]byte(`{"error":{"code":"InvalidInput","message":"no"}}`))
	f.Add([]byte(`{"error":"invalid_client","error_description":"no"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e := decodeRefusal(text)
		if e != nil && (e.Code == "" || len(e.Message) > 400 || strings.ContainsAny(e.Message+string(e.Code), "\x00\x1b\r\n")) {
			t.Errorf("%q", e)
		}
	})
}
