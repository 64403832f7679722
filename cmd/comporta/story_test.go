package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"comporta/service/credential"
	"comporta/service/gateway"
)

// What the stories of these tests use as secrets; the hunt for secrets looks for them.
const (
	storyRecoveryKey = "Überaus-geheimer-Schlüssel-7391"
	storyPassword    = "p4ss-of-the-data-source-5527"
)

// story is a service process and what was made on it.
type story struct {
	t          testing.TB
	service    *program
	address    string
	id, secret string
	dir        string
	client     *apiClient
	cluster    gateway.ID
	members    map[gateway.ID]*program
}

// newStory starts a service on SQLite.
func newStory(t testing.TB, flags ...string) *story {
	t.Helper()
	s := &story{t: t, dir: t.TempDir(), members: map[gateway.ID]*program{}}
	s.serve(flags...)
	found := s.service.says(`client id +(\S+)\n +client secret +(\S+)`)
	s.id, s.secret = found[1], found[2]
	s.connect()
	return s
}

// serve starts the service process.
func (s *story) serve(flags ...string) {
	s.t.Helper()
	args := append([]string{"serve", "--data", filepath.Join(s.dir, "state"), "--listen", "127.0.0.1:0"}, flags...)
	s.service = start(s.t, nil, args...)
	s.address = s.service.says(`listening on (\S+)`)[1]
}

func (s *story) connect() {
	s.t.Helper()
	h, err := httpClient("")
	if err != nil {
		s.t.Fatal(err)
	}
	h.Timeout = patience
	s.t.Cleanup(h.CloseIdleConnections)
	s.client = newAPIClient(h, s.address, s.id, s.secret)
}

func (s *story) login() []string {
	return []string{"COMPORTA_CLIENT_ID=" + s.id, "COMPORTA_CLIENT_SECRET=" + s.secret, "COMPORTA_RECOVERY_KEY=" + storyRecoveryKey}
}

func (s *story) folder(name string) string { return filepath.Join(s.dir, name) }

// join joins a member over the command line and returns its id; the first one makes the cluster.
func (s *story) join(name string) gateway.ID {
	s.t.Helper()
	args := []string{"member", "join", "--server", s.address, "--state", s.folder(name), "--name", name}
	if s.cluster == "" {
		args = append(args, "--new-cluster", "Story")
	} else {
		args = append(args, "--cluster", s.cluster.String())
	}
	p := start(s.t, s.login(), args...)
	found := p.says(`cluster id +(\S+)\n +member id +(\S+)`)
	if status := p.exit(); status != exitOK {
		s.t.Fatalf("join ended with %d: %s", status, p.stderr)
	}
	s.cluster = gateway.ID(found[1])
	return gateway.ID(found[2])
}

// run runs a joined member and waits until it is online.
func (s *story) run(name string, id gateway.ID, flags ...string) *program {
	s.t.Helper()
	p := start(s.t, nil, append([]string{"member", "run", "--state", s.folder(name), "--allow-folder", s.files()}, flags...)...)
	p.says(`online`)
	s.members[id] = p
	return p
}

// files is the folder that all members allow.
func (s *story) files() string {
	s.t.Helper()
	dir := s.folder("files")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	return dir
}

// cast joins and runs members and waits until the service sees them all.
func (s *story) cast(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.run(name, s.join(name))
	}
	if err := s.client.waitLive(deadline(s.t), s.cluster, len(names)); err != nil {
		s.t.Fatal(err)
	}
}

// sqlite registers a new, empty SQLite database.
func (s *story) sqlite(name string) gateway.ID {
	s.t.Helper()
	path := filepath.Join(s.files(), name)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return s.source(&newSource{Name: name, Type: gateway.TypeExtension, Details: map[string]string{"kind": "SQLite", "path": path},
		CredentialType: "Basic", Pairs: credential.Basic("reader", storyPassword), Encryption: "NotEncrypted"})
}

func (s *story) source(n *newSource) gateway.ID {
	s.t.Helper()
	id, err := s.client.addDataSource(deadline(s.t), s.cluster, n)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// query runs a query and returns its rows.
func (s *story) query(source gateway.ID, text string) *rows {
	s.t.Helper()
	answer, err := readRows(s.dispatch(&queryCall{DataSource: source, Text: text}, gateway.FormatJSON))
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

func (s *story) dispatch(q *queryCall, format gateway.Format) *http.Response {
	s.t.Helper()
	resp, err := s.client.dispatch(deadline(s.t), s.cluster, q, format)
	if err != nil {
		s.t.Fatalf("%s: %v", q.Text, err)
	}
	return resp
}
