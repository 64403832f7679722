package main

import (
	"context"
	"errors"
	"log/slog"

	"comporta/service"
	"comporta/service/gateway"
)

// rescueCmd makes a new administrator when nobody can log in any more. It needs the state itself, which whoever runs the service has.
type rescueCmd struct {
	Data         string `placeholder:"DIR" help:"The service's data folder (SQLite)."`
	Database     string `placeholder:"URL" help:"The service's PostgreSQL database. An address with a password comes from COMPORTA_DATABASE or --database-file."`
	DatabaseFile string `placeholder:"FILE" help:"Read the address of the database from this file."`
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
	s := &server{cfg: serverConfig{serveCmd: place, databaseURL: database, log: log}, failed: make(chan error, 2)}
	err = s.open(ctx)
	if err == nil {
		err = s.rescue(ctx, p)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return errors.Join(err, s.shutdown(closing))
}

func (s *server) rescue(ctx context.Context, p *process) error {
	id, secret := s.first.ID, s.first.Secret
	if !s.first.Created {
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
