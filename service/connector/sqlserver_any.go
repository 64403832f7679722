package connector

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"net"
	"sync/atomic"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
)

// anyEncryption connects to a SQL Server with TLS for everything, and without only when the server itself says that it has none for what
// follows the login: encrypt=false alone would have the login packet encrypted and every row in the clear. The driver says this with a text
// and no more (tds.go, interpretPreloginResponse), so the server is listened to. TLS that fails for another reason is a failure.
type anyEncryption struct{ always, login driver.Connector }

// newAnyEncryption takes a configuration that always encrypts.
func newAnyEncryption(cfg msdsn.Config) *anyEncryption {
	always := mssql.NewConnectorConfig(cfg)
	always.Dialer = &preloginDialer{net.Dialer{KeepAlive: cfg.KeepAlive}}
	cfg.Encryption = msdsn.EncryptionOff
	return &anyEncryption{always: always, login: mssql.NewConnectorConfig(cfg)}
}

// Driver implements driver.Connector.
func (a *anyEncryption) Driver() driver.Driver { return a.always.Driver() }

// Connect implements driver.Connector.
func (a *anyEncryption) Connect(ctx context.Context) (driver.Conn, error) {
	plain := &atomic.Bool{}
	conn, err := a.always.Connect(context.WithValue(ctx, preloginKey{}, plain))
	if err != nil && plain.Load() {
		return a.login.Connect(ctx)
	}
	return conn, err
}

type preloginKey struct{}

// preloginDialer dials, and notes for whoever is connecting whether the server says that it has no encryption.
type preloginDialer struct{ net.Dialer }

// DialContext implements mssql.Dialer.
func (d *preloginDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.Dialer.DialContext(ctx, network, address)
	plain, wanted := ctx.Value(preloginKey{}).(*atomic.Bool)
	if err != nil || !wanted || network != "tcp" { // a server's port is asked for by UDP
		return conn, err
	}
	return &preloginConn{Conn: conn, plain: plain}, nil
}

// preloginConn is a connection whose first packet from the server is looked at.
type preloginConn struct {
	net.Conn
	plain *atomic.Bool
	first []byte
	seen  bool
}

func (c *preloginConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.seen {
		c.first = append(c.first, p[:n]...)
		if packet := tdsPacket(c.first); packet != nil {
			c.plain.Store(refusesEncryption(packet))
			c.seen, c.first = true, nil
		}
	}
	return n, err
}

// tdsPacket returns the content of a packet, nil while it is not complete. Source: MS-TDS 2.2.3.1.
func tdsPacket(b []byte) []byte {
	const header = 8
	if len(b) < header {
		return nil
	}
	length := int(binary.BigEndian.Uint16(b[2:]))
	if length < header || len(b) < length {
		return nil
	}
	return b[header:length]
}

// refusesEncryption reads the option ENCRYPTION of a server's PRELOGIN: off (the login only) or not supported. Source: MS-TDS 2.2.6.5.
func refusesEncryption(prelogin []byte) bool {
	const option, encryption, end, off, notSupported = 5, 1, 0xff, 0, 2
	for rest := prelogin; len(rest) > option && rest[0] != end; rest = rest[option:] {
		at, length := int(binary.BigEndian.Uint16(rest[1:])), binary.BigEndian.Uint16(rest[3:])
		if rest[0] == encryption && length == 1 && at < len(prelogin) {
			return prelogin[at] == off || prelogin[at] == notSupported
		}
	}
	return false
}
