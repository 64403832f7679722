package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A second service on the state, and a second process of a member, end with words; after a kill the state is free at once.
func TestOneProcessPerState(t *testing.T) {
	s := newStory(t)
	s.cast("one")
	second := start(t, nil, "member", "run", "--state", s.folder("one"))
	if status := second.exit(); status != exitFailure || !strings.Contains(second.stderr.String(), "another process runs the member") {
		t.Errorf("a second process of the member: %d %s", status, second.stderr)
	}
	p := start(t, nil, "serve", "--data", filepath.Join(s.dir, "state"), "--listen", "127.0.0.1:0")
	if status := p.exit(); status != exitFailure || !strings.Contains(p.stderr.String(), "another service uses this state (process ") {
		t.Errorf("a second service: %d %s", status, p.stderr)
	}
	s.service.kill()
	s.members[s.cluster].kill()
	s.serve()
	// The service has another port now, which the member does not know; that it tries shows that it has its folder.
	start(t, nil, "member", "run", "--state", s.folder("one")).saysErr("the tunnel is down")
}

// When nobody can log in any more, whoever has the state makes a new administrator.
func TestRescue(t *testing.T) {
	s := newStory(t)
	s.service.signal(syscall.SIGTERM)
	if status := s.service.exit(); status != exitOK {
		t.Fatalf("the service ended with %d", status)
	}
	p := start(t, nil, "rescue", "--data", filepath.Join(s.dir, "state"))
	if status := p.exit(); status != exitOK {
		t.Fatalf("rescue ended with %d: %s", status, p.stderr)
	}
	found := p.says(`client id +(\S+)\n +client secret +(\S+)`)
	s.serve()
	s.id, s.secret = found[1], found[2]
	s.connect()
	if list := s.admin(t, nil, "audit", "--action", "principal.create"); len(list) != 2 || list[1]["caller"] != "comporta rescue" {
		t.Errorf("the audit log: %v", list)
	}
}

// Nothing is added when there is no member of that name to take over, and the names are told.
func TestOverwriteOfAnUnknownMember(t *testing.T) {
	s := newStory(t)
	s.join("one")
	p := start(t, s.login(), "member", "join", "--server", s.address, "--state", s.folder("new"), "--name", "nobody", "--cluster", s.cluster.String(), "--overwrite")
	if status := p.exit(); status != exitFailure || !strings.Contains(p.stderr.String(), `no member "nobody"`) || !strings.Contains(p.stderr.String(), "one") {
		t.Errorf("status %d: %s", status, p.stderr)
	}
	if list := s.admin(t, nil, "members", "list", s.cluster.String()); len(list) != 1 {
		t.Errorf("members: %v", list)
	}
}

// Nor when there is no cluster of that name; and of a cluster that is there only the member of that name is taken over.
func TestOverwriteByTheNameOfACluster(t *testing.T) {
	s := newStory(t)
	s.join("one")
	second := s.join("two")
	join := func(cluster, name string) *program {
		return start(t, s.login(), "member", "join", "--server", s.address, "--state", s.folder("new "+cluster+name), "--name", name, "--new-cluster", cluster, "--overwrite")
	}
	for _, c := range [][3]string{{"Nowhere", "two", `no cluster "Nowhere"`}, {"Story", "nobody", `no member "nobody"`}} {
		p := join(c[0], c[1])
		if status := p.exit(); status != exitFailure || !strings.Contains(p.stderr.String(), c[2]) {
			t.Errorf("%s: status %d: %s", c[0], status, p.stderr)
		}
	}
	if found := join("Story", "two").says(`member id +(\S+)`); found[1] != second.String() {
		t.Errorf("the rebuilt machine is %s, not %s", found[1], second)
	}
	if list := s.admin(t, nil, "clusters", "list"); len(list) != 1 {
		t.Errorf("clusters: %v", list)
	}
}
