package storetest

import (
	"context"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"comporta/persistence"
	"comporta/service/gateway"
)

// suite is one part of the suite on one empty store.
type suite struct {
	*testing.T
	store persistence.Store
	made  int
}

func newID() gateway.ID { return gateway.ID(uuid.NewString()) }

// at is a time of creation: n seconds and some microseconds after a fixed one.
func at(n int) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC).Add(time.Duration(n) * time.Second)
}

func number(n int) *int { return &n }

func (s *suite) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) code(err error, want gateway.Code) {
	s.Helper()
	if !gateway.IsCode(err, want) {
		s.Fatalf("the error is %v; want code %s", err, want)
	}
}

func (s *suite) same(got, want any) {
	s.Helper()
	if !reflect.DeepEqual(got, want) {
		s.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

// full fails when a field of a struct was left at its zero value: a round trip would prove nothing about it.
func (s *suite) full(v any, except ...string) {
	s.Helper()
	skip := map[string]bool{}
	for _, name := range except {
		skip[name] = true
	}
	value := reflect.ValueOf(v)
	for i := range value.NumField() {
		if name := value.Type().Field(i).Name; value.Field(i).IsZero() && !skip[name] {
			s.Fatalf("%T.%s has its zero value; give the sample another", v, name)
		}
	}
}

// try runs one write transaction; write fails the test when it fails.
func (s *suite) try(fn func(ctx context.Context, tx persistence.Tx) error) error {
	ctx := s.Context()
	return s.store.InTx(ctx, func(tx persistence.Tx) error { return fn(ctx, tx) })
}

func (s *suite) write(fn func(ctx context.Context, tx persistence.Tx) error) {
	s.Helper()
	s.ok(s.try(fn))
}

// find reads one value in a View of its own.
func find[T any](s *suite, fn func(ctx context.Context, r persistence.Reader) (T, error)) (v T, err error) {
	err = s.store.View(s.Context(), func(r persistence.Reader) (err error) {
		v, err = fn(s.Context(), r)
		return err
	})
	return v, err
}

func read[T any](s *suite, fn func(ctx context.Context, r persistence.Reader) (T, error)) T {
	s.Helper()
	v, err := find(s, fn)
	s.ok(err)
	return v
}

// ids returns the ids of a list, to compare orders.
func ids[T any](list []T, id func(T) gateway.ID) []gateway.ID {
	out := make([]gateway.ID, 0, len(list))
	for _, v := range list {
		out = append(out, id(v))
	}
	return out
}

func (s *suite) next() int {
	s.made++
	return s.made
}

// newCluster is a cluster with every field set, not stored.
func (s *suite) newCluster() gateway.Cluster {
	n := s.next()
	id := newID()
	return gateway.Cluster{
		ID: id, Name: "Ünïcode ÇLUSTER " + strconv.Itoa(n), Description: "what it is for", Department: "Dépt.", ContactInfo: "a@b.example", Region: "westeurope",
		PrimaryID: id, Mode: gateway.LeastLoaded, AllowCloudRefresh: true, AllowCustomConnectors: true,
		Limits:       gateway.Limits{CPU: number(80), Memory: number(0), WindowMinutes: number(7), Concurrency: number(40)},
		QueueTimeout: 1500 * time.Millisecond, CreatedAt: at(n), Revision: 99,
		Key: gateway.ClusterKey{Modulus: []byte{0, 255, 1}, Exponent: []byte{1, 0, 1}, Salt: []byte("salt"), Time: 3, Memory: 1 << 31, Threads: 255,
			VerifierHash: []byte{9}, Sealed: []byte{0, 0, 7}},
	}
}

func (s *suite) newMember(cluster gateway.ID) gateway.Member {
	n := s.next()
	return gateway.Member{
		ID: newID(), ClusterID: cluster, Name: "Mémber " + strconv.Itoa(n), Description: "in the cellar", Annotation: `{"a":"b"}`, State: gateway.MemberDisabled,
		Draining: true, Limits: gateway.Limits{Concurrency: number(3)}, PublicKey: []byte{1, 2, 3, 0}, Version: "1.2.3", Machine: "host", CreatedAt: at(n), LastSeen: at(n + 60),
	}
}

func (s *suite) newDataSource(cluster gateway.ID) gateway.DataSource {
	n := s.next()
	return gateway.DataSource{
		ID: newID(), ClusterID: cluster, Name: "Dätä " + strconv.Itoa(n), Type: gateway.TypePostgreSQL, ConnectionDetails: `{"server":"db:5432","database":"sälés"}`,
		Annotation: "{}", SingleSignOn: "Kerberos", CreatedAt: at(n),
		Credential: gateway.StoredCredential{Type: "Basic", Encryption: "Encrypted", Privacy: "Private", Algorithm: "RSA-OAEP", Envelope: "QUJD<&>", Version: 1 << 40, SkipTest: true},
	}
}

func (s *suite) newPrincipal() gateway.Principal {
	n := s.next()
	return gateway.Principal{ID: newID(), Kind: gateway.User, Name: "Zoë", Email: "Zoë." + strconv.Itoa(n) + "@Example.org", TenantAdmin: true, Disabled: true, CreatedAt: at(n)}
}

// cluster, member, dataSource and principal store a new one.
func (s *suite) cluster() gateway.Cluster {
	s.Helper()
	c := s.newCluster()
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateCluster(ctx, c) })
	return c
}

func (s *suite) member(cluster gateway.ID) gateway.Member {
	s.Helper()
	m := s.newMember(cluster)
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateMember(ctx, m) })
	return m
}

func (s *suite) dataSource(cluster gateway.ID) gateway.DataSource {
	s.Helper()
	d := s.newDataSource(cluster)
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateDataSource(ctx, d) })
	return d
}

func (s *suite) principal() gateway.Principal {
	s.Helper()
	p := s.newPrincipal()
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.CreatePrincipal(ctx, p) })
	return p
}

func (s *suite) permission(cluster, principal gateway.ID) gateway.Permission {
	s.Helper()
	p := gateway.Permission{ClusterID: cluster, PrincipalID: principal, Role: gateway.ConnectionCreator,
		AllowedTypes: []gateway.DataSourceType{gateway.TypeWeb, gateway.TypeSQLServer}, CreatedAt: at(s.next())}
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.PutPermission(ctx, p) })
	return p
}

func (s *suite) user(dataSource, principal gateway.ID) gateway.DataSourceUser {
	s.Helper()
	u := gateway.DataSourceUser{DataSourceID: dataSource, PrincipalID: principal, Role: gateway.DataSourceReshare, Right: gateway.RightReadOverride, CreatedAt: at(s.next())}
	s.write(func(ctx context.Context, tx persistence.Tx) error { return tx.PutDataSourceUser(ctx, u) })
	return u
}

// getCluster reads a cluster with its revision set to 0, which the store decides.
func (s *suite) getCluster(id gateway.ID) (gateway.Cluster, error) {
	c, err := find(s, func(ctx context.Context, r persistence.Reader) (gateway.Cluster, error) { return r.Cluster(ctx, id) })
	c.Revision = 0
	return c, err
}

func (s *suite) revision(id gateway.ID) int64 {
	s.Helper()
	return read(s, func(ctx context.Context, r persistence.Reader) (gateway.Cluster, error) { return r.Cluster(ctx, id) }).Revision
}
