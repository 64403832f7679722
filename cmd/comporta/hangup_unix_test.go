//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A SIGHUP during a member's start does not end it; the file is read again after the start. The file is a pipe here, which holds the start up.
func TestASIGHUPDuringAMembersStartIsHeededAfterIt(t *testing.T) {
	s := newStory(t)
	s.join("one")
	pipe := filepath.Join(s.dir, "GatewayCore.dll.config")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, "member", "run", "--state", s.folder("one"), "--config", pipe)
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0) // once the member reads
	if err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGHUP)
	file := filepath.Join(s.dir, "file")
	if err := os.WriteFile(file, []byte("<configuration/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, pipe); err != nil { // for the second reading
		t.Fatal(err)
	}
	if _, err := f.WriteString("<configuration/>"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	p.saysErr(`the configuration file was read again`)
	p.says(`online`)
}
