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
	if Exists(dir) {
		t.Error("there is a state before there is one")
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
