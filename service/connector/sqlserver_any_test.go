package connector

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"comporta/service/gateway"
)

// tdsServer speaks as much of SQL Server's protocol as it takes to log in, and notes what it hears. It answers one statement of a session
// by going away.
type tdsServer struct {
	net.Listener
	// encryption is what it says of itself in PRELOGIN.
	encryption byte
	// tls is nil for a server that goes away when TLS begins.
	tls   *tls.Config
	heard chan string
}

const (
	tdsLogin, tdsPrelogin, tdsReply      = 0x10, 0x12, 4
	tdsOff, tdsOn, tdsNotSup, tdsRequire = 0, 1, 2, 3
)

func newTDSServer(t *testing.T, encryption byte, config *tls.Config) *tdsServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &tdsServer{Listener: listener, encryption: encryption, tls: config, heard: make(chan string, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.serve(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return s
}

// serve notes each step: what the client asks for, and the packets after it with "tls" before those that come through it.
func (s *tdsServer) serve(conn net.Conn) {
	kind, content, err := readTDS(conn)
	if err != nil || kind != tdsPrelogin {
		s.heard <- fmt.Sprint("no prelogin: ", kind, err)
		return
	}
	asks := preloginEncryption(content)
	s.heard <- fmt.Sprint("asks ", asks)
	writeTDS(conn, []byte{1, 0, 6, 0, 1, 0xff, s.encryption})
	var line io.ReadWriter = conn
	through := ""
	if s.encryption != tdsNotSup {
		if line = s.secure(conn); line == nil {
			return
		}
		through = "tls "
	}
	for range 2 {
		kind, content, err := readTDS(line)
		if err != nil {
			return
		}
		s.heard <- fmt.Sprintf("%s%d", through, kind)
		if asks == tdsOff {
			line, through = conn, "" // only the client's login is encrypted, if anything
		}
		if kind == tdsLogin {
			s.heard <- fmt.Sprint("the user's name is in it: ", bytes.Contains(content, wide("reader")))
			writeTDS(line, loggedIn())
		}
	}
}

// secure shakes hands, nil when that does not come to a good end.
func (s *tdsServer) secure(conn net.Conn) io.ReadWriter {
	if s.tls == nil {
		kind, content, _ := readTDS(conn)
		s.heard <- fmt.Sprint("tls begins ", kind == tdsPrelogin && content[0] == 0x16)
		return nil
	}
	wrapped := &tdsWrapped{Conn: conn, wrap: true}
	secured := tls.Server(wrapped, s.tls)
	if secured.Handshake() != nil {
		return nil
	}
	wrapped.wrap = false
	return secured
}

// tdsWrapped has a TLS handshake in packets of the protocol.
type tdsWrapped struct {
	net.Conn
	wrap bool
	rest []byte
}

func (w *tdsWrapped) Read(p []byte) (int, error) {
	if !w.wrap {
		return w.Conn.Read(p)
	}
	if len(w.rest) == 0 {
		_, content, err := readTDS(w.Conn)
		if err != nil {
			return 0, err
		}
		w.rest = content
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

func (w *tdsWrapped) Write(p []byte) (int, error) {
	if !w.wrap {
		return w.Conn.Write(p)
	}
	writeTDS(w.Conn, p)
	return len(p), nil
}

func readTDS(r io.Reader) (kind byte, content []byte, err error) {
	header := make([]byte, 8)
	if _, err = io.ReadFull(r, header); err != nil {
		return 0, nil, err
	}
	content = make([]byte, binary.BigEndian.Uint16(header[2:])-8)
	_, err = io.ReadFull(r, content)
	return header[0], content, err
}

func writeTDS(w io.Writer, content []byte) {
	header := []byte{tdsReply, 1, 0, 0, 0, 0, 1, 0}
	binary.BigEndian.PutUint16(header[2:], uint16(len(content)+8))
	_, _ = w.Write(append(header, content...))
}

func preloginEncryption(content []byte) byte {
	for i := 0; content[i] != 0xff; i += 5 {
		if content[i] == 1 {
			return content[binary.BigEndian.Uint16(content[i+1:])]
		}
	}
	return 0xff
}

func wide(text string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// loggedIn is LOGINACK and DONE.
func loggedIn() []byte {
	ack := append([]byte{1, 0x74, 0, 0, 4, 1}, wide("x")...)
	ack = append(ack, 16, 0, 0, 0)
	answer := binary.LittleEndian.AppendUint16([]byte{0xad}, uint16(len(ack)))
	answer = append(answer, ack...)
	return append(answer, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

// steps are what the server has heard until the request ended.
func (s *tdsServer) steps(t *testing.T, encryption string) []string {
	t.Helper()
	r := newRig(t, gateway.TypeSQLServer, `{"server":"`+strings.Replace(s.Addr().String(), ":", ",", 1)+`","database":"x"}`, gateway.Credentials{"username": "reader", "password": password})
	r.task.DataSource.Credential.Encryption = encryption
	src, err := openSQLServer(&r.task.DataSource, r.creds)
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	if err := src.probe(t.Context()); err == nil {
		t.Error("the server went away, and yet it was logged in to")
	}
	_ = s.Close()
	var steps []string
	for {
		select {
		case step := <-s.heard:
			steps = append(steps, step)
		default:
			return steps
		}
	}
}

// encryptedConnection Any has all encrypted by a server that can do so, whatever its certificate is, and falls back only for one that says
// that it cannot.
func TestSQLServerAnyEncryption(t *testing.T) {
	t.Parallel()
	here := httptest.NewTLSServer(nil)
	defer here.Close()
	config := &tls.Config{Certificates: here.TLS.Certificates, MaxVersion: tls.VersionTLS12}
	const batch = 1
	inside := []string{"asks 1", "tls 16", "the user's name is in it: true", fmt.Sprint("tls ", batch)}
	for name, c := range map[string]struct {
		encryption byte
		tls        *tls.Config
		want       []string
	}{
		"offers it":            {tdsOn, config, inside},
		"asks for it":          {tdsRequire, config, inside},
		"has none":             {tdsNotSup, nil, []string{"asks 1", "asks 0", "16", "the user's name is in it: true", fmt.Sprint(batch)}},
		"for the login only":   {tdsOff, config, []string{"asks 1", "asks 0", "tls 16", "the user's name is in it: true", fmt.Sprint(batch)}},
		"goes away in the act": {tdsOn, nil, []string{"asks 1", "tls begins true"}},
	} {
		if got := newTDSServer(t, c.encryption, c.tls).steps(t, "Any"); !slices.Equal(got, c.want) {
			t.Errorf("a server that %s hears %q, want %q", name, got, c.want)
		}
	}
	if got := newTDSServer(t, tdsNotSup, nil).steps(t, "Encrypted"); !slices.Equal(got, []string{"asks 1"}) {
		t.Errorf("Encrypted: %q", got)
	}
}

func TestWhatIsNoPrelogin(t *testing.T) {
	for _, b := range []string{"", "\x04", "\x04\x01\x00\x07\x00\x00\x01\x00", "\x04\x01\x00\x0f\x00\x00\x01\x00\x01\x00\x06"} {
		if packet := tdsPacket([]byte(b)); packet != nil {
			t.Errorf("%q is a packet: %q", b, packet)
		}
	}
	for _, b := range []string{"", "\xff", "\x01", "\x01\x00\x06\x00\x01", "\x01\x00\x06\x00\x01\xff", "\x01\x00\x06\x00\x00\xff\x02", "\x01\xff\xff\x00\x01\xff\x02", "\x01\x00\x06\x00\x01\xff\x01", "\x01\x00\x06\x00\x01\xff\x03"} {
		if refusesEncryption([]byte(b)) {
			t.Errorf("%q refuses encryption", b)
		}
	}
}
