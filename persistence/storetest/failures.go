package storetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"pgregory.net/rapid"

	"comporta/persistence"
	"comporta/service/gateway"
)

// anyText: a text comes back as it went in, or is refused as CodeInvalid because no database may hold it. Nothing in it is a command.
func anyText(s *suite) {
	rapid.Check(s.T, func(t *rapid.T) {
		c := s.newCluster()
		c.Name, c.Revision = string(c.ID), 0
		c.Description = rapid.OneOf(rapid.String(), rapid.StringMatching(`['"%_\\?$1;:{}\-é漢😀]{0,20}`)).Draw(t, "text")
		err := s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateCluster(ctx, c) })
		if strings.ContainsRune(c.Description, 0) {
			if !gateway.IsCode(err, gateway.CodeInvalid) {
				t.Fatalf("a NUL character gives %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.getCluster(c.ID)
		if err != nil || got.Description != c.Description {
			t.Fatalf("%q came back as %q, %v", c.Description, got.Description, err)
		}
	})
	c := s.newCluster()
	c.Name = "bad \xff"
	s.code(s.try(func(ctx context.Context, tx persistence.Tx) error { return tx.CreateCluster(ctx, c) }), gateway.CodeInvalid)
}

func notFound(s *suite) {
	id, c := newID(), s.cluster()
	s.ok(s.store.View(s.Context(), func(r persistence.Reader) error {
		ctx := s.Context()
		for name, err := range map[string]error{
			"Cluster": second(r.Cluster(ctx, id)), "ClusterByName": second(r.ClusterByName(ctx, "nobody")), "ClusterState": second(r.ClusterState(ctx, id)),
			"Enrolment": second(r.Enrolment(ctx, []byte("x"))), "Member": second(r.Member(ctx, id)), "DataSource": second(r.DataSource(ctx, c.ID, id)),
			"Principal": second(r.Principal(ctx, id)), "PrincipalByEmail": second(r.PrincipalByEmail(ctx, "x@y")), "Policy": second(r.Policy(ctx)),
		} {
			if !gateway.IsCode(err, gateway.CodeNotFound) {
				s.Errorf("%s of nothing: %v", name, err)
			}
		}
		return nil
	}))
	for name, do := range map[string]func(ctx context.Context, tx persistence.Tx) error{
		"UpdateCluster": func(ctx context.Context, tx persistence.Tx) error {
			return tx.UpdateCluster(ctx, gateway.Cluster{ID: id})
		},
		"DeleteCluster":    func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteCluster(ctx, id) },
		"TouchCluster":     func(ctx context.Context, tx persistence.Tx) error { return tx.TouchCluster(ctx, id) },
		"DeletePermission": func(ctx context.Context, tx persistence.Tx) error { return tx.DeletePermission(ctx, c.ID, id) },
		"UpdateMember": func(ctx context.Context, tx persistence.Tx) error {
			return tx.UpdateMember(ctx, gateway.Member{ID: id, ClusterID: c.ID})
		},
		"DeleteMember": func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteMember(ctx, id) },
		"SawMember":    func(ctx context.Context, tx persistence.Tx) error { return tx.SawMember(ctx, id, "", "", at(0)) },
		"UpdateDataSource": func(ctx context.Context, tx persistence.Tx) error {
			return tx.UpdateDataSource(ctx, gateway.DataSource{ID: id, ClusterID: c.ID})
		},
		"DeleteDataSource":     func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteDataSource(ctx, c.ID, id) },
		"DeleteDataSourceUser": func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteDataSourceUser(ctx, id, id) },
		"UpdatePrincipal": func(ctx context.Context, tx persistence.Tx) error {
			return tx.UpdatePrincipal(ctx, gateway.Principal{ID: id})
		},
		"DeletePrincipal": func(ctx context.Context, tx persistence.Tx) error { return tx.DeletePrincipal(ctx, id) },
		"DeleteSecret":    func(ctx context.Context, tx persistence.Tx) error { return tx.DeleteSecret(ctx, id, id) },
	} {
		if err := s.try(do); !gateway.IsCode(err, gateway.CodeNotFound) {
			s.Errorf("%s of nothing: %v", name, err)
		}
	}
}

// unknownReferences: what belongs to something that is not there is refused, and nothing of it stays.
func unknownReferences(s *suite) {
	id, c, p := newID(), s.cluster(), s.principal()
	d := s.dataSource(c.ID)
	for name, do := range map[string]func(ctx context.Context, tx persistence.Tx) error{
		"CreateMember": func(ctx context.Context, tx persistence.Tx) error { return tx.CreateMember(ctx, s.newMember(id)) },
		"CreateDataSource": func(ctx context.Context, tx persistence.Tx) error {
			return tx.CreateDataSource(ctx, s.newDataSource(id))
		},
		"permission without cluster": func(ctx context.Context, tx persistence.Tx) error {
			return tx.PutPermission(ctx, gateway.Permission{ClusterID: id, PrincipalID: p.ID})
		},
		"permission without principal": func(ctx context.Context, tx persistence.Tx) error {
			return tx.PutPermission(ctx, gateway.Permission{ClusterID: c.ID, PrincipalID: id})
		},
		"user without data source": func(ctx context.Context, tx persistence.Tx) error {
			return tx.PutDataSourceUser(ctx, gateway.DataSourceUser{DataSourceID: id, PrincipalID: p.ID})
		},
		"user without principal": func(ctx context.Context, tx persistence.Tx) error {
			return tx.PutDataSourceUser(ctx, gateway.DataSourceUser{DataSourceID: d.ID, PrincipalID: id})
		},
		"PutSecret": func(ctx context.Context, tx persistence.Tx) error {
			return tx.PutSecret(ctx, gateway.Secret{ID: newID(), PrincipalID: id})
		},
		"PutInstaller": func(ctx context.Context, tx persistence.Tx) error {
			return tx.PutInstaller(ctx, gateway.Installer{PrincipalID: id})
		},
		"PutEnrolment": func(ctx context.Context, tx persistence.Tx) error {
			return tx.PutEnrolment(ctx, gateway.Enrolment{TokenHash: []byte("x"), ClusterID: c.ID, MemberID: id, ExpiresAt: time.Now().Add(time.Hour)})
		},
	} {
		before := s.changes(0).newest
		if err := s.try(do); !gateway.IsCode(err, gateway.CodeNotFound) {
			s.Errorf("%s: %v", name, err)
		}
		s.same(s.changes(0).newest, before)
	}
}

var errOwn = errors.New("the caller's own error")

func rollback(s *suite) {
	c, before := s.newCluster(), s.changes(0)
	err := s.try(func(ctx context.Context, tx persistence.Tx) error {
		if err := tx.CreateCluster(ctx, c); err != nil {
			return err
		}
		if _, err := tx.Cluster(ctx, c.ID); err != nil {
			return err // a transaction sees what it wrote
		}
		return errOwn
	})
	if err != errOwn {
		s.Fatalf("the error came back as %v", err)
	}
	_, err = s.getCluster(c.ID)
	s.code(err, gateway.CodeNotFound)
	s.same(s.changes(0), before)
	if err := s.store.View(s.Context(), func(persistence.Reader) error { return errOwn }); err != errOwn {
		s.Fatalf("the error came back as %v", err)
	}
}

// failedWriteDooms: nothing of a transaction stays when one of its writes failed, even if its function does not care. Not finding
// something is no failure.
func failedWriteDooms(s *suite) {
	taken, c := s.cluster(), s.newCluster()
	err := s.try(func(ctx context.Context, tx persistence.Tx) error {
		if err := tx.CreateCluster(ctx, c); err != nil {
			return err
		}
		twin := s.newCluster()
		twin.Name = taken.Name
		_ = tx.CreateCluster(ctx, twin)
		return nil
	})
	if err == nil {
		s.Fatal("the failure was hidden")
	}
	_, err = s.getCluster(c.ID)
	s.code(err, gateway.CodeNotFound)
	s.write(func(ctx context.Context, tx persistence.Tx) error {
		if _, err := tx.Cluster(ctx, newID()); !gateway.IsCode(err, gateway.CodeNotFound) {
			return err
		}
		if err := tx.DeleteMember(ctx, newID()); !gateway.IsCode(err, gateway.CodeNotFound) {
			return err
		}
		return tx.CreateCluster(ctx, c)
	})
	_, err = s.getCluster(c.ID)
	s.ok(err)
}

func panicRollsBack(s *suite) {
	c := s.newCluster()
	func() {
		defer func() {
			if recover() == nil {
				s.Error("the panic was swallowed")
			}
		}()
		_ = s.try(func(ctx context.Context, tx persistence.Tx) error {
			s.ok(tx.CreateCluster(ctx, c))
			panic("in the middle")
		})
	}()
	_, err := s.getCluster(c.ID)
	s.code(err, gateway.CodeNotFound)
	s.cluster()
}

func cancelled(s *suite) {
	ctx, cancel := context.WithCancel(s.Context())
	c := s.newCluster()
	err := s.store.InTx(ctx, func(tx persistence.Tx) error {
		if err := tx.CreateCluster(ctx, c); err != nil {
			return err
		}
		cancel()
		_, err := tx.Cluster(ctx, c.ID)
		return err
	})
	if !errors.Is(err, context.Canceled) {
		s.Fatalf("a cancelled transaction returns %v", err)
	}
	if err := s.store.View(ctx, func(persistence.Reader) error { return nil }); !errors.Is(err, context.Canceled) {
		s.Fatalf("a cancelled view returns %v", err)
	}
	_, err = s.getCluster(c.ID)
	s.code(err, gateway.CodeNotFound)
	s.cluster()
}

// closing: Close waits for what runs and refuses what comes.
func closing(s *suite) {
	s.ok(s.store.Ping(s.Context()))
	inside, leave, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	c := s.newCluster()
	go func() {
		done <- s.try(func(ctx context.Context, tx persistence.Tx) error {
			close(inside)
			<-leave
			return tx.CreateCluster(ctx, c)
		})
	}()
	<-inside
	closed := make(chan error, 1)
	go func() { closed <- s.store.Close() }()
	// Ping fails from the moment on at which Close has begun.
	for s.store.Ping(s.Context()) == nil {
	}
	select {
	case <-closed:
		s.Fatal("Close did not wait")
	default:
	}
	close(leave)
	s.ok(<-done)
	s.ok(<-closed)
	s.ok(s.store.Close())
	s.code(s.try(func(context.Context, persistence.Tx) error { return nil }), gateway.CodeUnavailable)
	s.code(s.store.Ping(s.Context()), gateway.CodeUnavailable)
}
