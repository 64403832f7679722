package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"comporta/service"
	"comporta/service/issuer"
)

// serveCmd holds the flags of the service.
type serveCmd struct {
	Data                  string        `xor:"place" placeholder:"DIR" help:"Keep the state in this folder (SQLite)."`
	Database              string        `xor:"place" placeholder:"URL" help:"Keep the state in PostgreSQL: postgres://user@host/database. An address with a password comes from COMPORTA_DATABASE or --database-file."`
	DatabaseFile          string        `xor:"place" placeholder:"FILE" help:"Read the address of the database from this file."`
	Listen                string        `default:"127.0.0.1:8085" placeholder:"ADDRESS" help:"Where to listen; port 0 takes a free one. Default: 127.0.0.1:8085."`
	TLSCert               string        `name:"tls-cert" placeholder:"FILE" help:"Certificate chain for HTTPS (PEM). SIGHUP reads it and the key again."`
	TLSKey                string        `name:"tls-key" placeholder:"FILE" help:"Its private key (PEM)."`
	PublicURL             string        `name:"public-url" placeholder:"URL" help:"The address by which clients know the service; it stands in tokens and links. Default: the address listened on."`
	AllowInsecureHTTP     bool          `name:"allow-insecure-http" help:"Listen in clear text although others can reach the address, because something in front of it speaks TLS."`
	AllowPlainCredentials bool          `help:"Take data source credentials in plain text and seal them here."`
	MetricsListen         string        `placeholder:"ADDRESS" help:"Serve Prometheus metrics at /metrics of this address; off by default."`
	RateLimit             float64       `default:"0" placeholder:"N" help:"How many requests a second each caller may send; bursts of twice as many pass, 0 does not limit."`
	TokenLifetime         time.Duration `default:"1h" help:"How long an access token is good, 1m to 24h."`
	ShutdownTimeout       time.Duration `default:"30s" help:"How long running requests may take to finish on SIGTERM, up to 1h."`
	TrustIssuer           []string      `sep:"none" placeholder:"URL" help:"Take access tokens of this OpenID Connect issuer too; more than once for more. Its principals are created here under the object ids (oid, else sub) that its tokens carry. It can speak for every principal, so name only your own."`
	TrustAudience         string        `default:"api://comporta" placeholder:"AUDIENCE" help:"What the tokens of those issuers must be for."`
	Region                []string      `sep:"none" placeholder:"KEY=NAME" help:"A region that clusters may name; more than once for more, home first. Default: home=Home."`
	TenantID              string        `name:"tenant-id" placeholder:"GUID" help:"The tenant's id, on the first start only; made when it is not given."`
}

// Validate returns everything that is wrong with the flags at once.
func (c *serveCmd) Validate() error {
	var problems []error
	complain := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	problems = append(problems, c.checkPlace())
	complain((c.TLSCert == "") != (c.TLSKey == ""), "--tls-cert and --tls-key go together")
	problems = append(problems, c.checkListen("--listen", c.Listen, c.TLSCert != ""))
	if c.MetricsListen != "" {
		problems = append(problems, c.checkListen("--metrics-listen", c.MetricsListen, false))
	}
	u, err := url.Parse(c.PublicURL)
	complain(c.PublicURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != ""),
		"--public-url must be an address such as https://gateway.example.com")
	problems = append(problems, c.checkIssuers())
	_, err = c.regions()
	problems = append(problems, err)
	complain(!(c.RateLimit >= 0) || math.IsInf(c.RateLimit, 1), "--rate-limit must be a number and not negative")
	complain(c.TokenLifetime < time.Minute || c.TokenLifetime > 24*time.Hour, "--token-lifetime must be between 1m and 24h")
	complain(c.ShutdownTimeout < 0 || c.ShutdownTimeout > time.Hour, "--shutdown-timeout must be between 0 and 1h")
	return errors.Join(problems...)
}

// checkPlace wants one place for the state.
func (c *serveCmd) checkPlace() error {
	places := 0
	for _, place := range []string{c.Data, c.Database, c.DatabaseFile} {
		if place != "" {
			places++
		}
	}
	if places != 1 {
		return errors.New("say where the state lives, once: --data DIR, or --database postgres://…, or --database-file FILE")
	}
	return nil
}

// checkIssuers refuses issuers whose keys could be changed on the way.
func (c *serveCmd) checkIssuers() error {
	for _, issuer := range c.TrustIssuer {
		u, err := url.Parse(issuer)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
			return fmt.Errorf("--trust-issuer must be an https address such as https://login.example.com/tenant")
		}
	}
	if len(c.TrustIssuer) > 0 && c.TrustAudience == "" {
		return errors.New("--trust-audience must not be empty")
	}
	return nil
}

// issuers are the outside issuers, nil for none.
func (c *serveCmd) issuers(log *slog.Logger) service.Issuers {
	if len(c.TrustIssuer) == 0 {
		return nil
	}
	list := make([]issuer.Config, len(c.TrustIssuer))
	for i, url := range c.TrustIssuer {
		list[i] = issuer.Config{URL: url, Audience: c.TrustAudience}
	}
	return issuer.New(list, time.Now, log)
}

// regions are the regions that clusters may name, home first.
func (c *serveCmd) regions() ([]service.Region, error) {
	var regions []service.Region
	for i, region := range c.Region {
		key, name, ok := strings.Cut(region, "=")
		if key, name = strings.TrimSpace(key), strings.TrimSpace(name); !ok || key == "" || name == "" {
			return nil, fmt.Errorf("--region must be KEY=NAME, such as westeurope=West Europe")
		}
		for _, r := range regions {
			if strings.EqualFold(r.Key, key) {
				return nil, fmt.Errorf("--region %s is given twice", key)
			}
		}
		regions = append(regions, service.Region{Key: key, Name: name, Home: i == 0})
	}
	return regions, nil
}

// checkListen refuses an address that others can reach in clear text.
func (c *serveCmd) checkListen(flag, address string, encrypted bool) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return fmt.Errorf("%s must be HOST:PORT, such as 127.0.0.1:8085", flag)
	}
	if encrypted || c.AllowInsecureHTTP || isLoopback(host) {
		return nil
	}
	return fmt.Errorf("%s %s can be reached from other machines and is in clear text, so tokens and secrets could be read on the way; "+
		"give --tls-cert and --tls-key, listen on 127.0.0.1, or add --allow-insecure-http if something in front of it speaks TLS", flag, address)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// databaseURL is the address of the database, "" for SQLite. One with a password must not stand on the command line, where every user
// of the machine can read it.
func (c *serveCmd) databaseURL(p *process) (string, error) {
	if c.DatabaseFile != "" {
		return readSecretFile("database address", c.DatabaseFile)
	}
	if u, err := url.Parse(c.Database); err == nil && p.given("database") {
		if _, has := u.User.Password(); has || u.Query().Has("password") {
			return "", usagef("a password must not stand on the command line; put the address into COMPORTA_DATABASE or a file named by --database-file")
		}
	}
	return c.Database, nil
}

// hangups brings SIGHUP, which would end the process, until stop is called. It is asked for first of all: one that comes during the start, as
// from a renewal of certificates, is heeded after it.
func hangups() (hangup <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// Run serves until ctx ends, and then stops in order.
func (c *serveCmd) Run(ctx context.Context, p *process, log *slog.Logger) error {
	hangup, stop := hangups()
	defer stop()
	p.serves()
	raiseHeapFloor()
	database, err := c.databaseURL(p)
	if err != nil {
		return err
	}
	s, err := startServer(ctx, serverConfig{serveCmd: *c, databaseURL: database, log: log,
		adminID: p.env["COMPORTA_ADMIN_ID"], adminSecret: p.env["COMPORTA_ADMIN_SECRET"]})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		log.Info("stopped during the start")
		return nil
	}
	if err != nil {
		return err
	}
	if s.first.Created && s.first.Secret != "" {
		p.printf("This is the first start. The administrator's application, shown this once; keep it:\n  client id      %s\n  client secret  %s\n  tenant id      %s\n",
			s.first.ID, s.first.Secret, s.service.Access.TenantID())
	}
	p.printf("listening on %s\n", s.address)
	var failed error
	for running := true; running; {
		select {
		case <-ctx.Done():
			running = false
		case failed = <-s.failed:
			running = false
		case <-hangup:
			s.reload()
		}
	}
	log.Info("stopping: no new requests, running ones finish", "within", c.ShutdownTimeout)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.ShutdownTimeout)
	defer cancel()
	return errors.Join(failed, s.shutdown(stopping))
}
