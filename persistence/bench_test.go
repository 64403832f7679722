package persistence_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"comporta/persistence"
	"comporta/persistence/storetest"
	"comporta/service/gateway"
)

func benchmarkStores(b *testing.B, run func(b *testing.B, s *persistence.SQL)) {
	b.Run("SQLite", func(b *testing.B) { run(b, open(b, persistence.Config{DataDir: b.TempDir()})) })
	b.Run("Postgres", func(b *testing.B) { run(b, open(b, persistence.Config{URL: storetest.PostgresURL(b)})) })
}

// BenchmarkClusterState reads a cluster with 10 members and 100 data sources, each with a user.
func BenchmarkClusterState(b *testing.B) {
	benchmarkStores(b, func(b *testing.B, s *persistence.SQL) {
		id := gateway.ID(uuid.NewString())
		if err := s.InTx(b.Context(), func(tx persistence.Tx) error { return fill(b.Context(), tx, id) }); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			err := s.View(b.Context(), func(r persistence.Reader) error {
				_, err := r.ClusterState(b.Context(), id)
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func fill(ctx context.Context, tx persistence.Tx, id gateway.ID) error {
	p := gateway.Principal{ID: gateway.ID(uuid.NewString()), Kind: gateway.User}
	if err := tx.CreatePrincipal(ctx, p); err != nil {
		return err
	}
	if err := tx.CreateCluster(ctx, gateway.Cluster{ID: id, Name: "c", PrimaryID: id}); err != nil {
		return err
	}
	for i := range 10 {
		if err := tx.CreateMember(ctx, gateway.Member{ID: gateway.ID(uuid.NewString()), ClusterID: id, Name: fmt.Sprint(i)}); err != nil {
			return err
		}
	}
	for i := range 100 {
		d := gateway.DataSource{ID: gateway.ID(uuid.NewString()), ClusterID: id, Name: fmt.Sprint(i), ConnectionDetails: `{"server":"db","database":"d"}`}
		if err := tx.CreateDataSource(ctx, d); err != nil {
			return err
		}
		if err := tx.PutDataSourceUser(ctx, gateway.DataSourceUser{DataSourceID: d.ID, PrincipalID: p.ID}); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkCreateCluster commits one durable cluster a time, with its member and audit entry.
func BenchmarkCreateCluster(b *testing.B) {
	benchmarkStores(b, func(b *testing.B, s *persistence.SQL) {
		for b.Loop() {
			if err := s.InTx(b.Context(), func(tx persistence.Tx) error { return createAudited(tx, gateway.ID(uuid.NewString())) }); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkAppendDispatchRecords writes a batch of 1,000 records.
func BenchmarkAppendDispatchRecords(b *testing.B) {
	benchmarkStores(b, func(b *testing.B, s *persistence.SQL) {
		for b.Loop() {
			records := make([]gateway.DispatchRecord, 1000)
			for i := range records {
				records[i] = gateway.DispatchRecord{ID: gateway.ID(uuid.NewString()), At: time.Now(), Outcome: "ok"}
			}
			if err := s.InTx(b.Context(), func(tx persistence.Tx) error { return tx.AppendDispatchRecords(b.Context(), records) }); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkNothingChanged is what every replica asks each second: what changed, among 5,000 clusters, when nothing did.
func BenchmarkNothingChanged(b *testing.B) {
	benchmarkStores(b, func(b *testing.B, s *persistence.SQL) {
		err := s.InTx(b.Context(), func(tx persistence.Tx) error {
			for i := range 5000 {
				if err := tx.CreateCluster(b.Context(), gateway.Cluster{ID: gateway.ID(uuid.NewString()), Name: fmt.Sprint(i)}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := s.View(b.Context(), func(r persistence.Reader) error {
				_, _, err := r.ClusterRevisions(b.Context(), 1)
				return err
			}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
