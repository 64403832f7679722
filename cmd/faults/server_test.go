//go:build linux

package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// server is a PostgreSQL of our own: faults take more connections than a server that others use too has to give.
type server struct {
	dir, address string
	cmd          *exec.Cmd
	ended        chan struct{}
}

// serverSettings: what lies in it need not outlive the tests.
var serverSettings = []string{"-c", "max_connections=500", "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "shared_buffers=64MB"}

func newServer() (s *server, err error) {
	programs, err := serverPrograms()
	if err != nil {
		return nil, err
	}
	s = &server{ended: make(chan struct{})}
	if s.dir, err = os.MkdirTemp("", "comporta-postgres-"); err != nil {
		return nil, err
	}
	who, err := s.owner()
	if err != nil {
		return s, err
	}
	data := filepath.Join(s.dir, "data")
	initialise := exec.Command(filepath.Join(programs, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initialise.SysProcAttr, initialise.Dir = who, s.dir
	if out, err := initialise.CombinedOutput(); err != nil {
		return s, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s, s.start(filepath.Join(programs, "postgres"), data, who)
}

// start starts it on a free port. It dies with the test process.
func (s *server) start(program, data string, who *syscall.SysProcAttr) error {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.address = free.Addr().String()
	_, port, _ := net.SplitHostPort(s.address)
	free.Close()
	s.cmd = exec.Command(program, append([]string{"-D", data, "-h", "127.0.0.1", "-p", port, "-k", ""}, serverSettings...)...)
	s.cmd.SysProcAttr, s.cmd.Dir = who, s.dir
	s.cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	return nil
}

// owner makes the folder belong to whoever the server runs as, which may not be root.
func (s *server) owner() (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err := errors.Join(err1, err2, os.Chown(s.dir, uid, gid)); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// serverPrograms is the folder with the server's programs: in the path, or where distributions keep them, the newest first.
func serverPrograms() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", fmt.Errorf("initdb: %w", fs.ErrNotExist)
	}
	return filepath.Dir(slices.Max(found)), nil
}

func (s *server) close() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.ended
	}
	os.RemoveAll(s.dir)
}
