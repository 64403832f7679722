package persistence_test

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy stands between a store and PostgreSQL and can forget a connection as a firewall does: both ends keep it and hear nothing more, not
// even its end. Other connections, and new ones, work.
type proxy struct {
	server string
	mu     sync.Mutex
	lines  []*line
	// deafTo, once set, is part of a statement whose connection is forgotten when the server has got it and has not answered; unheard is the
	// port of that connection.
	deafTo  string
	unheard int
}

// line is one connection; the server knows it by its port.
type line struct {
	port   int
	gone   sync.Once
	forgot chan struct{}
	ends   [2]net.Conn // kept, or the garbage collector would close them
}

func (l *line) forget() { l.gone.Do(func() { close(l.forgot) }) }

// throughProxy starts a proxy before the server of an address, and answers the address that goes through it.
func throughProxy(t *testing.T, address string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "5432")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: u.Host}
	u.Host = listener.Addr().String()
	go p.serve(listener)
	t.Cleanup(func() {
		listener.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, l := range p.lines {
			l.ends[0].Close()
			l.ends[1].Close()
		}
	})
	return p, u.String()
}

func (p *proxy) serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		l := &line{port: server.LocalAddr().(*net.TCPAddr).Port, forgot: make(chan struct{}), ends: [2]net.Conn{client, server}}
		p.mu.Lock()
		p.lines = append(p.lines, l)
		p.mu.Unlock()
		go l.carry(server, client, p.overhear)
		go l.carry(client, server, func(*line, []byte) {})
	}
}

// carry passes on what one end says until the line is forgotten.
func (l *line) carry(to, from net.Conn, heard func(*line, []byte)) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-l.forgot:
			return // both connections stay open
		default:
		}
		heard(l, buffer[:n])
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			to.Close()
			from.Close()
			return
		}
	}
}

// overhear forgets the line of a statement to which the proxy is deaf. The statement itself, which is underway, still arrives.
func (p *proxy) overhear(l *line, said []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deafTo != "" && bytes.Contains(said, []byte(p.deafTo)) {
		p.deafTo, p.unheard = "", l.port
		l.forget()
	}
}

// deaf has the next connection that says a statement forgotten once the server has got it. It answers from which port that one came.
func (p *proxy) deaf(statement string) (unheard func() int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deafTo = statement
	return func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.unheard
	}
}

// forget forgets the connection that comes to the server from this port.
func (p *proxy) forget(t *testing.T, port int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines {
		if l.port == port {
			l.forget()
			return
		}
	}
	t.Fatalf("no connection comes from port %d", port)
}
