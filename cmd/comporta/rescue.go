package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"comporta/persistence"
	"comporta/service"
	"comporta/service/gateway"
)

// rescueCmd makes a new administrator when nobody can log in any more. It needs the state itself, which whoever runs the service has.
type rescueCmd struct {
	Data         string `xor:"place" placeholder:"DIR" help:"The service's data folder (SQLite)."`
	Database     string `xor:"place" placeholder:"URL" help:"The service's PostgreSQL database. An address with a password comes from COMPORTA_DATABASE or --database-file."`
	DatabaseFile string `xor:"place" placeholder:"FILE" help:"Read the address of the database from this file."`
}

// Run makes the administrator and prints its id and secret, this once. The service must not be running.
func (c *rescueCmd) Run(ctx context.Context, p *process, log *slog.Logger) error {
	place := serveCmd{Data: c.Data, Database: c.Database, DatabaseFile: c.DatabaseFile}
	if err := place.checkPlace(); err != nil {
		return &usageError{err}
	}
	database, err := place.databaseURL(p)
	if err != nil {
		return err
	}
	if err := c.checkState(); err != nil {
		return err
	}
	s := &server{cfg: serverConfig{serveCmd: place, databaseURL: database, log: log}, failed: make(chan error, 2)}
	err = s.open(ctx)
	if err == nil {
		err = s.rescue(ctx, p)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return errors.Join(err, s.shutdown(closing))
}

// checkState refuses a folder that holds no state: a new one would be made there, whose administrator is of no use to anybody.
func (c *rescueCmd) checkState() error {
	if c.Data == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(c.Data, persistence.SQLiteFile)); err != nil {
		return fmt.Errorf("there is no service's state in %s: %w; name the folder that comporta serve --data has", c.Data, err)
	}
	return nil
}

func (s *server) rescue(ctx context.Context, p *process) error {
	id, secret := s.first.ID, s.first.Secret
	if s.first.Created {
		fmt.Fprintln(p.stderr, "comporta: this database held no service's state, and holds a new tenant now; is it the one that comporta serve --database has?")
	} else {
		var err error
		if id, secret, err = s.newAdmin(ctx); err != nil {
			return err
		}
	}
	p.printf("A new administrator's application, shown this once; keep it:\n  client id      %s\n  client secret  %s\n  tenant id      %s\n",
		id, secret, s.service.Access.TenantID())
	return nil
}

func (s *server) newAdmin(ctx context.Context) (gateway.ID, string, error) {
	caller := &gateway.Caller{Name: "comporta rescue", TenantAdmin: true}
	made, secret, err := s.service.Tenant.CreatePrincipal(ctx, caller, service.NewPrincipal{Kind: gateway.App, Name: "Rescue administrator", TenantAdmin: true})
	return made.ID, secret, err
}
