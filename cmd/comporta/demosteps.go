package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"comporta/service/credential"
	"comporta/service/gateway"
	"comporta/service/member"
)

// demoMembers are the names of the demo's three machines.
var demoMembers = []string{"Porto", "Setúbal", "Évora"}

// demoState is what a demo with --data keeps for its next run, in a file of this user alone.
type demoState struct {
	ClientID     gateway.ID `json:"clientId"`
	ClientSecret string     `json:"clientSecret"`
	ClusterID    gateway.ID `json:"clusterId"`
	DataSourceID gateway.ID `json:"dataSourceId"`
	Filled       bool       `json:"filled"`
}

func (d *demo) stateFile() string { return filepath.Join(d.dir, "demo.json") }

func (d *demo) remember() error {
	text, err := json.MarshalIndent(d.known, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(d.stateFile(), append(text, '\n'), 0o600)
}

func (d *demo) recall() error {
	text, err := os.ReadFile(d.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		d.known = demoState{ClientID: newID(), ClientSecret: randomSecret()}
		return d.remember()
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &d.known)
}

// randomSecret is a secret for the demonstration: 192 random bits as text.
func randomSecret() string {
	raw := make([]byte, 24)
	_, _ = rand.Read(raw) // never fails: the runtime ends the process if the system has no randomness
	return base64.RawURLEncoding.EncodeToString(raw)
}

// serve starts the service on SQLite.
func (d *demo) serve(ctx context.Context, listen string) (string, error) {
	if err := d.recall(); err != nil {
		return "", err
	}
	flags := serveCmd{Data: filepath.Join(d.dir, "service"), Listen: listen, TokenLifetime: time.Hour, ShutdownTimeout: 5 * time.Second}
	var err error
	d.server, err = startServer(ctx, serverConfig{serveCmd: flags, log: d.log, adminID: d.known.ClientID.String(), adminSecret: d.known.ClientSecret})
	if err != nil {
		return "", err
	}
	client, err := httpClient("")
	if err != nil {
		return "", err
	}
	d.client = newAPIClient(client, d.server.address, d.known.ClientID.String(), d.known.ClientSecret)
	return "listening on " + d.server.address, nil
}

// join makes the cluster with its first member and adds the others, each with a state folder of its own.
func (d *demo) join(ctx context.Context) (string, error) {
	if d.known.ClusterID != "" {
		return "known from the last run", nil
	}
	recoveryKey := randomSecret()
	for i, name := range demoMembers {
		request := member.JoinRequest{Server: d.server.address, StateDir: d.memberDir(i), Name: name, ClusterID: d.known.ClusterID,
			ClientID: d.known.ClientID.String(), ClientSecret: d.known.ClientSecret, RecoveryKey: recoveryKey, Overwrite: true,
			HTTP: d.client.http, Version: version, Machine: name, Random: rand.Reader}
		if i == 0 {
			request.NewCluster = "Demo"
		}
		state, err := member.Join(ctx, request)
		if err != nil {
			return "", err
		}
		d.known.ClusterID = state.ClusterID
	}
	return fmt.Sprintf("three joined the new cluster with its recovery key: %s, %s, %s", demoMembers[0], demoMembers[1], demoMembers[2]), d.remember()
}

func (d *demo) memberDir(i int) string { return filepath.Join(d.dir, fmt.Sprintf("member-%d", i+1)) }

func (d *demo) files() string { return filepath.Join(d.dir, "files") }

// connect starts the members and waits until the service sees all of them.
func (d *demo) connect(ctx context.Context) (string, error) {
	if err := os.MkdirAll(d.files(), 0o700); err != nil {
		return "", err
	}
	for i := range demoMembers {
		if err := d.startMember(i); err != nil {
			return "", err
		}
	}
	for _, m := range d.members {
		if err := m.WaitOnline(ctx); err != nil {
			return "", err
		}
	}
	return "all members dialled out and are live", d.client.waitLive(ctx, d.known.ClusterID, len(d.members))
}

func (d *demo) startMember(i int) error {
	state, err := member.Load(d.memberDir(i))
	if err != nil {
		return err
	}
	state.Server = d.server.address // the port may be another one than in the last run
	m, err := member.New(member.Config{State: state, AllowFolders: []string{d.files()}, Version: version, Machine: state.MemberName,
		Now: time.Now, Jitter: mathrand.Float64, Log: d.log})
	if err != nil {
		return err
	}
	dm := &demoMember{Member: m, id: state.MemberID, name: state.MemberName, ended: make(chan error, 1)}
	d.members = append(d.members, dm)
	go func() { dm.ended <- m.Run(context.Background()) }()
	return nil
}

// waitLive returns when the service sees so many members of the cluster as live.
func (c *apiClient) waitLive(ctx context.Context, cluster gateway.ID, want int) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		answer, err := c.cluster(ctx, cluster)
		if err != nil {
			return err
		}
		live := 0
		for _, m := range answer.Members {
			if m.Status == "Live" {
				live++
			}
		}
		if live >= want {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// register makes the database file and registers it, with credentials that only the members can open.
func (d *demo) register(ctx context.Context) (string, error) {
	if d.known.DataSourceID != "" {
		return "known from the last run", nil
	}
	path := filepath.Join(d.files(), "shop.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return "", err
	}
	id, err := d.client.addDataSource(ctx, d.known.ClusterID, &newSource{Name: "Shop", Type: gateway.TypeExtension,
		Details:        map[string]string{"kind": "SQLite", "path": path},
		CredentialType: "Basic", Pairs: credential.Basic("shop", randomSecret()), Encryption: "NotEncrypted"})
	if err != nil {
		return "", err
	}
	d.known.DataSourceID = id
	return "registered, credentials encrypted for the members alone", d.remember()
}

// fill makes the sample data, through the gateway like everything else.
func (d *demo) fill(ctx context.Context) (string, error) {
	if d.known.Filled {
		return "known from the last run", nil
	}
	for _, statement := range demoData {
		resp, err := d.client.dispatch(ctx, d.known.ClusterID, &queryCall{DataSource: d.known.DataSourceID, Text: statement, Write: true}, gateway.FormatJSON)
		if err != nil {
			return "", err
		}
		if _, err := readRows(resp); err != nil {
			return "", err
		}
	}
	d.known.Filled = true
	return "2,000 customers and 100,000 orders written through the gateway", d.remember()
}
