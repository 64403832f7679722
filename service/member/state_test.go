package member

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"comporta/service/gateway"
)

func testState(t *testing.T) *State {
	t.Helper()
	_, own, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return &State{Server: "http://127.0.0.1:1", ClusterID: gateway.ID("11111111-1111-1111-1111-111111111111"), ClusterName: "Süd",
		MemberID: gateway.ID("22222222-2222-2222-2222-222222222222"), MemberName: "m1", Key: own, ClusterKey: cluster}
}

func TestTheStateFolderHoldsItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "state")
	s := testState(t)
	if held, err := Exists(dir); held || err != nil {
		t.Error("there is a state before there is one", err)
	}
	if err := s.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.Server != s.Server || got.ClusterName != s.ClusterName || got.MemberID != s.MemberID || !got.Key.Equal(s.Key) || !got.ClusterKey.Equal(s.ClusterKey) {
		t.Errorf("got %+v", got)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", f.Name(), info.Mode(), err)
		}
	}
}

func TestABadStateFolderIsExplained(t *testing.T) {
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "member join") {
		t.Errorf("empty: %v", err)
	}
	dir := t.TempDir()
	if err := testState(t).Save(dir); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, memberKeyFile)
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("readable by others: %v", err)
	}
	if err := os.WriteFile(key, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(key, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("damaged: %v", err)
	}
}

// Whatever is missing or wrong in the folder, Load says so and never returns half a member.
func TestAFolderOfManyPiecesIsNoMember(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string) error
		word  string
	}{
		"no own key":     {func(dir string) error { return os.Remove(filepath.Join(dir, memberKeyFile)) }, "is missing"},
		"no cluster key": {func(dir string) error { return os.Remove(filepath.Join(dir, clusterFile)) }, "is missing"},
		"power cut":      {func(dir string) error { return os.Remove(filepath.Join(dir, memberFile)) }, "member join"},
		"keys exchanged": {func(dir string) error {
			return os.Rename(filepath.Join(dir, clusterFile), filepath.Join(dir, memberKeyFile))
		}, "right kind of key"},
		"no JSON":         {put(memberFile, "{"), "damaged"},
		"no ids":          {put(memberFile, `{"server":"http://h"}`), "an id is missing"},
		"no server":       {put(memberFile, `{"clusterId":"11111111-1111-1111-1111-111111111111","memberId":"22222222-2222-2222-2222-222222222222"}`), "address"},
		"far too large":   {put(memberFile, strings.Repeat(" ", maxStateFile+1)), "too large"},
		"not a PKCS8 key": {put(clusterFile, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), "right kind of key"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := testState(t).Save(dir); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			if s, err := Load(dir); err == nil || !strings.Contains(err.Error(), c.word) {
				t.Errorf("got %v, %v", s, err)
			}
		})
	}
}

func put(name, text string) func(dir string) error {
	return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
}

func TestASaveReplacesTheWholeState(t *testing.T) {
	dir := t.TempDir()
	if err := testState(t).Save(dir); err != nil {
		t.Fatal(err)
	}
	now := testState(t)
	if err := now.Save(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := Load(dir); err != nil || !got.Key.Equal(now.Key) || !got.ClusterKey.Equal(now.ClusterKey) {
		t.Errorf("got %v, %v", got, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 3 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// A folder that cannot be written is found out before anything in it changes.
func TestAStateThatCannotBeStagedHarmsNothing(t *testing.T) {
	dir := t.TempDir()
	old := testState(t)
	if err := old.Save(dir); err != nil {
		t.Fatal(err)
	}
	if err := replaceFiles(dir, []stateFile{{memberFile, []byte("{}")}, {"no/such/folder", nil}}); err == nil {
		t.Fatal("it was written")
	}
	if got, err := Load(dir); err != nil || !got.Key.Equal(old.Key) {
		t.Errorf("the old state is gone: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 3 {
		t.Errorf("%d files, %v", len(files), err)
	}
}
