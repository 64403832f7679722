package api_test

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/google/uuid"

	"comporta/persistence"
	"comporta/service"
	"comporta/service/credential"
	"comporta/service/gateway"
	"comporta/service/member"
	"comporta/service/recovery"
)

// estate is one cluster with everything on it that a route may name, and someone who has a role on all of it.
type estate struct {
	cluster, member, source, otherSource gateway.ID
	// someone has a role on the cluster and on the data source, and a secret.
	someone, secret gateway.ID
	tenant          gateway.ID
	// invitation is an enrolment token for the member.
	invitation string
}

var anyGUID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// withoutIDs takes ids out of an answer: those asked for, and the request's own.
func (e *estate) withoutIDs(text string) string { return anyGUID.ReplaceAllString(text, "ID") }

// roles is a world with one caller for each column of the rights table.
type roles struct {
	*world
	principals map[string]gateway.ID
	tokens     map[string]string
	// live is an estate whose member is connected.
	live estate
	// spare is somebody to give a role to.
	spare gateway.ID
	// key is the key pair of every estate but the live one: making one takes long. sealed are credentials for it, verifier proves the recovery key.
	key      gateway.ClusterKey
	sealed   map[string]any
	verifier []byte
	tenant   gateway.ID
}

func newID() gateway.ID { return gateway.ID(uuid.NewString()) }

// clusterRoles and sourceRoles are what the callers of the table have on an estate.
var clusterRoles = map[string]gateway.Permission{
	"crea":  {Role: gateway.ConnectionCreator},
	"limit": {Role: gateway.ConnectionCreator, AllowedTypes: []gateway.DataSourceType{gateway.TypePostgreSQL}},
	"resh":  {Role: gateway.ConnectionCreatorReshare},
	"admin": {Role: gateway.ClusterAdmin},
}

var sourceRoles = map[string]service.NewDataSourceUser{
	"read":  {Role: gateway.DataSourceReader, Right: gateway.RightRead},
	"over":  {Role: gateway.DataSourceReader, Right: gateway.RightReadOverride},
	"share": {Role: gateway.DataSourceReshare, Right: gateway.RightRead},
	"owner": {Role: gateway.DataSourceOwner, Right: gateway.RightRead},
}

func newRoles(w *world) *roles {
	w.t.Helper()
	r := &roles{world: w, principals: map[string]gateway.ID{}, tokens: map[string]string{"anon": "", "tadmin": w.token}}
	for _, name := range []string{"off", "none", "inst", "other", "read", "over", "share", "owner", "crea", "limit", "resh", "admin"} {
		a := w.as(name)
		r.principals[name], r.tokens[name] = gateway.ID(a.adminID), a.token
	}
	r.tokens["late"] = w.replicaToken(time.Now().Add(-2*time.Hour), "")
	r.tokens["alien"] = w.replicaToken(time.Now(), newID())
	r.spare = gateway.ID(w.as("spare").adminID)
	w.must(200, "PATCH", "/principals/"+r.principals["off"].String(), map[string]any{"disabled": true}, nil)
	w.must(200, "POST", "/gatewayPolicy", map[string]any{"resourceGatewayInstallPolicy": "Restricted"}, nil)
	w.must(200, "POST", "/gatewayInstallers", map[string]any{"ids": []any{r.principals["inst"]}, "operation": "Add", "gatewayType": "Resource"}, nil)
	r.makeKey()
	r.makeLive()
	return r
}

func (r *roles) checkNames(callers []string) {
	for _, caller := range callers {
		if _, ok := r.tokens[caller]; !ok {
			r.t.Fatalf("nobody plays the caller %q", caller)
		}
	}
	if len(callers) != len(r.tokens) {
		r.t.Fatalf("the table has %d callers, the test %d", len(callers), len(r.tokens))
	}
}

// replicaToken is a token of the administrator as a replica issues it whose clock shows another time or that serves another tenant.
// Its signature is good either way.
func (w *world) replicaToken(now time.Time, tenant gateway.ID) string {
	w.t.Helper()
	ctx := context.Background()
	policy, err := w.service.Tenant.Policy(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	other := policy
	if tenant != "" {
		other.TenantID = tenant
	}
	put := func(p gateway.TenantPolicy) {
		if err := w.store.InTx(ctx, func(tx persistence.Tx) error { return tx.PutPolicy(ctx, p) }); err != nil {
			w.t.Fatal(err)
		}
	}
	put(other)
	defer put(policy)
	s := service.New(service.Config{Store: w.store, Tunnels: nil, Envelopes: envelopes{}, Now: func() time.Time { return now }, NewID: newID, Random: rand.Reader,
		Log: slog.New(slog.DiscardHandler), Issuer: w.url, SecretCost: recovery.Cost{Time: 1, Memory: 64, Threads: 1}})
	if _, err := s.Tenant.Start(ctx, "", w.adminID, w.adminSecret); err != nil {
		w.t.Fatal(err)
	}
	token, err := s.Access.IssueToken(ctx, w.adminID, w.adminSecret)
	if err != nil {
		w.t.Fatal(err)
	}
	return token.AccessToken
}

// makeKey makes the key pair of the estates.
func (r *roles) makeKey() {
	r.t.Helper()
	var err error
	if r.key, err = recovery.New([]byte(recoveryKey), rand.Reader, recovery.Cost{Time: 1, Memory: 64, Threads: 1}, 2048); err != nil {
		r.t.Fatal(err)
	}
	secrets, err := recovery.Derive([]byte(recoveryKey), r.key)
	if err != nil {
		r.t.Fatal(err)
	}
	r.verifier = secrets.Verifier
	envelope, err := credential.Seal(credential.Public{Modulus: r.key.Modulus, Exponent: r.key.Exponent}, credential.Basic("u", "p"), rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	r.sealed = map[string]any{"credentialType": "Basic", "credentials": envelope, "encryptionAlgorithm": "RSA-OAEP"}
	policy, err := r.service.Tenant.Policy(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	r.tenant = policy.TenantID
}

// makeLive joins a machine, and gives everybody of the table a role there.
func (r *roles) makeLive() {
	r.t.Helper()
	r.join(member.JoinRequest{NewCluster: "live", Name: "one"})
	cluster, source, other := gateway.ID(r.cluster), gateway.ID(r.source("live")), gateway.ID(r.source("other"))
	r.live = estate{cluster: cluster, member: cluster, source: source, otherSource: other, someone: gateway.ID(r.as("someone").adminID), tenant: r.tenant}
	ctx, caller := context.Background(), &gateway.Caller{ID: gateway.ID(r.adminID)}
	ok := func(err error) {
		if err != nil {
			r.t.Fatal(err)
		}
	}
	for _, p := range r.permissions(&r.live) {
		ok(r.service.Clusters.PutPermission(ctx, caller, p))
	}
	for _, u := range r.users(&r.live) {
		ok(r.service.DataSources.PutUser(ctx, caller, cluster, u.DataSourceID, service.NewDataSourceUser{PrincipalID: u.PrincipalID, Role: u.Role, Right: u.Right}))
	}
	// The administrator made it and has roles on it; the table's tadmin has none.
	ok(r.service.Clusters.DeletePermission(ctx, caller, cluster, caller.ID))
	for _, id := range []gateway.ID{source, other} {
		ok(r.service.DataSources.DeleteUser(ctx, caller, cluster, id, caller.ID.String()))
	}
}

func (r *roles) permissions(e *estate) []gateway.Permission {
	list := []gateway.Permission{{ClusterID: e.cluster, PrincipalID: e.someone, Role: gateway.ConnectionCreator}}
	for name, p := range clusterRoles {
		p.ClusterID, p.PrincipalID = e.cluster, r.principals[name]
		list = append(list, p)
	}
	return list
}

func (r *roles) users(e *estate) []gateway.DataSourceUser {
	list := []gateway.DataSourceUser{
		{DataSourceID: e.source, PrincipalID: e.someone, Role: gateway.DataSourceReader, Right: gateway.RightRead},
		{DataSourceID: e.otherSource, PrincipalID: r.principals["other"], Role: gateway.DataSourceReader, Right: gateway.RightRead},
	}
	for name, u := range sourceRoles {
		list = append(list, gateway.DataSourceUser{DataSourceID: e.source, PrincipalID: r.principals[name], Role: u.Role, Right: u.Right})
	}
	return list
}

// estates makes so many estates in one transaction.
func (r *roles) estates(n int) []estate {
	r.t.Helper()
	made := make([]estate, n)
	for i := range made {
		made[i] = estate{cluster: newID(), member: newID(), source: newID(), otherSource: newID(), someone: newID(), secret: newID(), tenant: r.tenant}
	}
	ctx := context.Background()
	err := r.store.InTx(ctx, func(tx persistence.Tx) error {
		for i := range made {
			for _, write := range r.writes(tx, &made[i]) {
				if err := write(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

// writes are the steps that make an estate.
func (r *roles) writes(tx persistence.Tx, e *estate) (steps []func(context.Context) error) {
	step := func(f func(context.Context) error) { steps = append(steps, f) }
	step(func(ctx context.Context) error {
		return tx.CreateCluster(ctx, gateway.Cluster{ID: e.cluster, PrimaryID: e.cluster, Name: e.cluster.String(), Region: "home", Mode: gateway.Failover, Key: r.key, CreatedAt: tx.Now()})
	})
	for _, id := range []gateway.ID{e.cluster, e.member} {
		step(func(ctx context.Context) error {
			return tx.CreateMember(ctx, gateway.Member{ID: id, ClusterID: e.cluster, Name: id.String(), State: gateway.MemberEnabled, CreatedAt: tx.Now()})
		})
	}
	for _, id := range []gateway.ID{e.source, e.otherSource} {
		step(func(ctx context.Context) error {
			return tx.CreateDataSource(ctx, gateway.DataSource{ID: id, ClusterID: e.cluster, Name: id.String(), Type: gateway.TypeFile, ConnectionDetails: `{"path":"/x"}`,
				SingleSignOn: "None", Credential: gateway.StoredCredential{Type: "Anonymous", Encryption: "Any", Privacy: "None", Version: 1}, CreatedAt: tx.Now()})
		})
	}
	step(func(ctx context.Context) error {
		return tx.CreatePrincipal(ctx, gateway.Principal{ID: e.someone, Kind: gateway.App, Name: "someone", CreatedAt: tx.Now()})
	})
	step(func(ctx context.Context) error {
		return tx.PutSecret(ctx, gateway.Secret{ID: e.secret, PrincipalID: e.someone, Label: "first", Hash: "$no$hash", CreatedAt: tx.Now()})
	})
	for _, p := range r.permissions(e) {
		step(func(ctx context.Context) error { p.CreatedAt = tx.Now(); return tx.PutPermission(ctx, p) })
	}
	for _, u := range r.users(e) {
		step(func(ctx context.Context) error { u.CreatedAt = tx.Now(); return tx.PutDataSourceUser(ctx, u) })
	}
	return steps
}

// invite readies their members for machines.
func (r *roles) invite(estates []estate) {
	r.t.Helper()
	ctx, caller := context.Background(), &gateway.Caller{ID: gateway.ID(r.adminID), TenantAdmin: true}
	for i := range estates {
		e := &estates[i]
		invitation, err := r.service.Members.Add(ctx, caller, e.cluster, service.NewMember{Name: e.member.String(), RecoveryKey: recoveryKey, Overwrite: true})
		if err != nil {
			r.t.Fatal(err)
		}
		e.invitation = invitation.Token
	}
}

// sendRequest sends a request with headers of its own, and the caller's token if it has one.
func (w *world) sendRequest(method, target string, body io.Reader, header http.Header) *http.Response {
	w.t.Helper()
	req, err := http.NewRequest(method, target, body)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header = header
	if w.token != "" {
		req.Header.Set("Authorization", "Bearer "+w.token)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { resp.Body.Close() })
	return resp
}
