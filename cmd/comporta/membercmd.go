package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"comporta/service/gateway"
	"comporta/service/member"
	"comporta/service/tunnel"
)

// memberCmd makes this machine a member and runs it.
type memberCmd struct {
	Join joinCmd      `cmd:"" help:"Make this machine a member of a new or an existing cluster."`
	Run  runMemberCmd `cmd:"" help:"Run the member that was joined."`
}

// joinCmd holds the flags of member join.
type joinCmd struct {
	Server             string `required:"" placeholder:"URL" help:"The address of the service."`
	State              string `required:"" placeholder:"DIR" help:"The folder for the member's keys; it is made, readable by this user alone."`
	Name               string `placeholder:"NAME" help:"The member's name. Default: the machine's."`
	NewCluster         string `placeholder:"NAME" xor:"target" help:"Make a cluster of this name; this machine is its first member."`
	Cluster            string `placeholder:"ID" xor:"target" help:"Join the cluster with this id."`
	Description        string `help:"The new cluster's description."`
	Region             string `help:"The new cluster's region."`
	EnrolmentTokenFile string `placeholder:"FILE" xor:"target" help:"Take over the member for which this one-time token was made."`
	RecoveryKeyFile    string `placeholder:"FILE" help:"Read the recovery key from this file; else it comes from COMPORTA_RECOVERY_KEY or a prompt."`
	Overwrite          bool   `help:"Take over the member of that name, which must be there, with the recovery key, and replace what is in the state folder."`
	CAFile             string `name:"ca-file" placeholder:"FILE" help:"Trust the certificate authorities in this file (PEM) too."`
}

// Run joins and prints the ids.
func (c *joinCmd) Run(ctx context.Context, p *process, log *slog.Logger) error {
	request, err := c.request(ctx, p)
	if err != nil {
		return err
	}
	request.Log = log
	state, err := member.Join(ctx, request)
	if err != nil {
		return err
	}
	p.printf("joined cluster %q\n  cluster id  %s\n  member id   %s\n  member      %s\nnext: comporta member run --state %s\n",
		state.ClusterName, state.ClusterID, state.MemberID, state.MemberName, c.State)
	return nil
}

func (c *joinCmd) request(ctx context.Context, p *process) (member.JoinRequest, error) {
	r := member.JoinRequest{Server: c.Server, StateDir: c.State, Name: c.Name, NewCluster: c.NewCluster, Description: c.Description, Region: c.Region,
		Overwrite: c.Overwrite, MustExist: c.Overwrite, Version: version, Machine: machineName(), Random: rand.Reader}
	if r.Name == "" {
		r.Name = r.Machine
	}
	var ok bool
	if r.ClusterID, ok = gateway.ParseID(c.Cluster); c.Cluster != "" && !ok {
		return r, usagef("--cluster %q is not a GUID; comporta admin clusters list shows the ids", c.Cluster)
	}
	client, err := httpClient(c.CAFile)
	if err != nil {
		return r, err
	}
	r.HTTP = client
	if c.CAFile != "" {
		if r.CAFile, err = filepath.Abs(c.CAFile); err != nil {
			return r, err
		}
	}
	if err := c.rights(p, &r); err != nil {
		return r, err
	}
	r.RecoveryKey, err = p.read(ctx, secret{what: "recovery key", env: "COMPORTA_RECOVERY_KEY", file: c.RecoveryKeyFile, fileFlag: "recovery-key-file", twice: c.NewCluster != "" && !c.Overwrite})
	return r, err
}

// rights finds the token, or the client id and secret.
func (c *joinCmd) rights(p *process, r *member.JoinRequest) (err error) {
	if c.EnrolmentTokenFile != "" {
		r.EnrolmentToken, err = readSecretFile("enrolment token", c.EnrolmentTokenFile)
		return err
	}
	if c.NewCluster == "" && c.Cluster == "" {
		return usagef("say what to join: --new-cluster NAME, --cluster ID or --enrolment-token-file FILE")
	}
	r.ClientID, r.ClientSecret, err = p.clientCredentials()
	return err
}

// clientCredentials are the application's id and secret, from the environment only.
func (p *process) clientCredentials() (id, secret string, err error) {
	id, secret = p.env["COMPORTA_CLIENT_ID"], p.env["COMPORTA_CLIENT_SECRET"]
	if id == "" || secret == "" {
		return "", "", usagef("set COMPORTA_CLIENT_ID and COMPORTA_CLIENT_SECRET to an application's id and secret")
	}
	return id, secret, nil
}

func machineName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// tlsConfig trusts the authorities in a file besides the system's; nil is the system's default.
func tlsConfig(caFile string) (*tls.Config, error) {
	if caFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(caFile)
	if err != nil {
		return nil, usagef("--ca-file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, usagef("--ca-file %s holds no PEM certificate", caFile)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// httpClient is a client for the API.
func httpClient(caFile string) (*http.Client, error) {
	config, err := tlsConfig(caFile)
	if err != nil {
		return nil, err
	}
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}}, nil
}

// runMemberCmd holds the flags of member run.
type runMemberCmd struct {
	State        string        `required:"" placeholder:"DIR" help:"The folder that member join made."`
	Config       string        `placeholder:"FILE" help:"The member's own limits: a Microsoft.PowerBI.DataMovement.Pipeline.GatewayCore.dll.config. SIGHUP reads it again."`
	AllowFolder  []string      `sep:"none" placeholder:"DIR" help:"Serve files and SQLite databases under this folder; may be given again, and is separated as PATH is in the environment."`
	CAFile       string        `name:"ca-file" placeholder:"FILE" help:"Trust the certificate authorities in this file (PEM) too. Default: the file that the join named."`
	DrainTimeout time.Duration `default:"60s" help:"How long running requests may take to finish on SIGTERM, up to 24h."`
	Tunnels      int           `default:"2" help:"How many tunnels to keep open, 1 to 8."`
}

// Validate returns everything that is wrong with the flags at once.
func (c *runMemberCmd) Validate() error {
	var problems []error
	if c.Tunnels < 1 || c.Tunnels > tunnel.MaxSlots {
		problems = append(problems, fmt.Errorf("--tunnels must be between 1 and %d", tunnel.MaxSlots))
	}
	if c.DrainTimeout <= 0 || c.DrainTimeout > 24*time.Hour {
		problems = append(problems, errors.New("--drain-timeout must be more than 0 and at most 24h"))
	}
	return errors.Join(problems...)
}

// Run runs the member until ctx ends, then drains it. It returns an error when the service says that trying again is pointless.
func (c *runMemberCmd) Run(ctx context.Context, p *process, log *slog.Logger) error {
	hangup, stop := hangups()
	defer stop()
	p.serves()
	raiseHeapFloor()
	state, err := member.Load(c.State)
	if err != nil {
		return err
	}
	release, err := member.Claim(c.State)
	if err != nil {
		return err
	}
	defer func() { _ = release() }() // the process's end releases it too
	m, err := c.member(state, log)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Run(context.WithoutCancel(ctx)) }()
	online := make(chan struct{})
	go func() {
		if m.WaitOnline(ctx) == nil {
			close(online)
		}
	}()
	for {
		select {
		case err := <-ended:
			return err
		case <-online:
			p.printf("online\n")
			online = nil
		case <-hangup:
			c.reload(m, log)
		case <-ctx.Done():
			return c.drain(m, ended, log)
		}
	}
}

func (c *runMemberCmd) member(state *member.State, log *slog.Logger) (*member.Member, error) {
	tls, err := tlsConfig(cmp.Or(c.CAFile, state.CAFile))
	if err != nil {
		return nil, err
	}
	folders, err := folders(c.AllowFolder, log)
	if err != nil {
		return nil, err
	}
	epoch, err := member.NextEpoch(c.State, time.Now())
	if err != nil {
		log.Warn("the number of this start cannot be kept; should the clock be set back, the next start may wait for the tunnels of this one to be given up", "error", err)
	}
	return member.New(member.Config{State: state, TLS: tls, ConfigFile: c.Config, AllowFolders: folders, Tunnels: c.Tunnels, Epoch: epoch,
		Version: version, Machine: machineName(), Now: time.Now, Jitter: mathrand.Float64, Log: log})
}

// folders makes the allowed folders absolute. One that is not there now may be a share that is mounted later, and is no reason to take
// the other data sources down.
func folders(given []string, log *slog.Logger) ([]string, error) {
	list := make([]string, len(given))
	for i, dir := range given {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return nil, usagef("--allow-folder %s is not a folder", dir)
		case err != nil:
			log.Warn("an allowed folder cannot be read now; its data sources fail until it can", "folder", dir, "error", err)
		}
		if list[i], err = filepath.Abs(dir); err != nil {
			return nil, fmt.Errorf("--allow-folder %s: %w", dir, err)
		}
	}
	return list, nil
}

func (c *runMemberCmd) reload(m *member.Member, log *slog.Logger) {
	if err := m.Reload(); err != nil {
		log.Error("the configuration file was not taken; the limits stay as they were", "error", err)
		return
	}
	log.Info("the configuration file was read again")
}

// drain lets running requests finish, and cuts them when the time is up.
func (c *runMemberCmd) drain(m *member.Member, ended <-chan error, log *slog.Logger) error {
	log.Info("draining: no new requests, running ones finish", "running", m.Running(), "within", c.DrainTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), c.DrainTimeout)
	defer cancel()
	err := m.Drain(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("some requests did not finish within --drain-timeout %s and were cut", c.DrainTimeout)
	}
	return errors.Join(err, <-ended)
}
