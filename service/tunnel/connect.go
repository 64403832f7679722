package tunnel

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// connect opens the connection to the service: straight or through a proxy, with TLS when the address is https.
func (d *Dialer) connect(ctx context.Context) (net.Conn, error) {
	choose := d.Proxy
	if choose == nil {
		choose = http.ProxyFromEnvironment
	}
	proxy, err := choose(&http.Request{URL: d.Server, Header: http.Header{}})
	if err != nil {
		return nil, fmt.Errorf("the proxy setting cannot be read: %w", err)
	}
	address, err := hostPort(d.Server)
	if err != nil {
		return nil, err
	}
	var c net.Conn
	if proxy == nil {
		c, err = dialTCP(ctx, address)
	} else {
		c, err = d.connectProxy(ctx, proxy, address)
	}
	if err != nil || d.Server.Scheme == "http" {
		return c, err
	}
	return d.secure(ctx, c, d.Server.Hostname())
}

// connectTimeout bounds one try to connect. The kernel asks again at 1, 3, 7 and 15 s, so whoever waits longer learns later that a network
// is back than one who begins anew.
const connectTimeout = 5 * time.Second

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{KeepAlive: 15 * time.Second, Timeout: connectTimeout}).DialContext(ctx, "tcp", address)
}

// secure speaks TLS over c. Only HTTP/1.1 is offered, because the Upgrade exists there only.
func (d *Dialer) secure(ctx context.Context, c net.Conn, host string) (net.Conn, error) {
	cfg := d.TLS.Clone()
	if cfg == nil {
		cfg = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	cfg.NextProtos = []string{"http/1.1"}
	t := tls.Client(c, cfg)
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("no TLS connection to %s: %w", host, err)
	}
	return t, nil
}

// connectProxy asks a proxy for a connection to address, with CONNECT whatever the scheme: a forwarding proxy would not let the Upgrade through.
func (d *Dialer) connectProxy(ctx context.Context, proxy *url.URL, address string) (net.Conn, error) {
	if proxy.Scheme != "http" && proxy.Scheme != "https" {
		return nil, fmt.Errorf("the proxy %s is of a kind that tunnels cannot use; name an http or https proxy", proxy.Redacted())
	}
	at, err := hostPort(proxy)
	if err != nil {
		return nil, err
	}
	c, err := dialTCP(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("the proxy does not answer: %w", err)
	}
	if proxy.Scheme == "https" {
		if c, err = d.secure(ctx, c, proxy.Hostname()); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if err := askProxy(c, proxy, address); err != nil {
		c.Close()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the proxy does not answer: %w", ctx.Err())
		}
		return nil, err
	}
	return c, nil
}

func askProxy(c net.Conn, proxy *url.URL, address string) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if u := proxy.User; u != nil {
		password, _ := u.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err := req.Write(c); err != nil {
		return fmt.Errorf("the proxy broke the connection: %w", err)
	}
	// What this reader takes too much is lost, but nothing comes behind the header: on the line that follows it is us who speak first.
	resp, err := http.ReadResponse(bufio.NewReader(io.LimitReader(c, maxHeaderBytes)), req)
	if err != nil {
		return fmt.Errorf("the proxy's answer cannot be read: %w", err)
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusProxyAuthRequired:
		return fmt.Errorf("the proxy %s asks for a user name and password (407); put them into the proxy address, as in http://user:password@proxy:3128", proxy.Host)
	default:
		if err := behindProxy(resp); err != nil {
			return err
		}
		return fmt.Errorf("the proxy %s does not let this machine connect to %s: %s", proxy.Host, address, clip(resp.Status, 100))
	}
}

func hostPort(u *url.URL) (string, error) {
	port := u.Port()
	switch {
	case u.Hostname() == "":
		return "", fmt.Errorf("the address %s names no host", u.Redacted())
	case port != "":
	case u.Scheme == "https":
		port = "443"
	case u.Scheme == "http":
		port = "80"
	default:
		return "", fmt.Errorf("the address %s must begin with http:// or https://", u.Redacted())
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}
