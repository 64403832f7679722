package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"comporta/service/gateway"
	"comporta/service/member"
)

// demoCmd shows the whole of Comporta on one machine.
type demoCmd struct {
	Listen string `default:"127.0.0.1:8085" placeholder:"ADDRESS" help:"Where the service listens; port 0 takes a free one."`
	Data   string `placeholder:"DIR" help:"Keep everything in this folder; else it is in a temporary one and removed at the end."`
}

// demo is one run of the demonstration. Everything in it speaks to the service over HTTP, as it would on other machines.
type demo struct {
	*process
	log     *slog.Logger
	dir     string
	started time.Time
	// known is what one run leaves for the next in the same folder.
	known   demoState
	server  *server
	client  *apiClient
	members []*demoMember
}

// demoMember is one of the three members.
type demoMember struct {
	*member.Member
	id    gateway.ID
	name  string
	ended chan error
}

// Run shows it and stays until ctx ends.
func (c *demoCmd) Run(ctx context.Context, p *process, _ *slog.Logger) error {
	d := &demo{process: p, started: time.Now(), dir: c.Data}
	remove, err := d.folder()
	if err != nil {
		return err
	}
	defer remove()
	logFile, err := os.OpenFile(filepath.Join(d.dir, "demo.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the demo's folder cannot be written: %w", err)
	}
	defer logFile.Close()
	d.log = slog.New(slog.NewTextHandler(logFile, nil))
	err = d.show(ctx, c.Listen)
	if err == nil {
		<-ctx.Done()
		p.printf("\nstopping\n")
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // Ctrl-C in the middle is a way to leave, not a failure
	}
	return errors.Join(err, d.stop())
}

// folder makes the folder, and returns what removes it at the end if it was not to be kept.
func (d *demo) folder() (func(), error) {
	if d.dir != "" {
		abs, err := filepath.Abs(d.dir)
		if err != nil {
			return nil, err
		}
		d.dir = abs
		return func() {}, os.MkdirAll(d.dir, 0o700)
	}
	dir, err := os.MkdirTemp("", "comporta-demo-")
	d.dir = dir
	return func() { os.RemoveAll(dir) }, err
}

// show goes through the story.
func (d *demo) show(ctx context.Context, listen string) error {
	d.printf("Comporta %s: a service, three members, one database, and a machine that dies.\n\n", version)
	for _, step := range []struct {
		what string
		do   func(context.Context) (string, error)
	}{
		{"service", func(ctx context.Context) (string, error) { return d.serve(ctx, listen) }},
		{"members", d.join},
		{"tunnels", d.connect},
		{"data source", d.register},
		{"sample data", d.fill},
	} {
		began := time.Now()
		said, err := step.do(ctx)
		if err != nil {
			return fmt.Errorf("demo, %s: %w", step.what, err)
		}
		d.printf("%7.2f s  %-12s %s (%d ms)\n", time.Since(d.started).Seconds(), step.what, said, time.Since(began).Milliseconds())
	}
	if err := d.failover(ctx); err != nil {
		return fmt.Errorf("demo, failover: %w", err)
	}
	d.invite()
	return nil
}

// failover dispatches, kills the member that served, and dispatches the same again.
func (d *demo) failover(ctx context.Context) error {
	first, err := d.query(ctx, demoQuery)
	if err != nil {
		return err
	}
	d.printf("%7.2f s  dispatch     %d rows, served by %s\n\n%s\n", d.seconds(), len(first.Rows), first.servedBy, first.table())
	if err := d.kill(ctx, first.memberID); err != nil {
		return err
	}
	d.printf("%7.2f s  killed       %s, as a crash would\n", d.seconds(), first.servedBy)
	second, err := d.query(ctx, demoQuery)
	if err != nil {
		return err
	}
	same := "the same rows"
	if first.table() != second.table() {
		same = "OTHER ROWS"
	}
	d.printf("%7.2f s  dispatch     %s, served by %s\n", d.seconds(), same, second.servedBy)
	return nil
}

func (d *demo) seconds() float64 { return time.Since(d.started).Seconds() }

// kill ends a member without a word to anybody.
func (d *demo) kill(ctx context.Context, id gateway.ID) error {
	for _, m := range d.members {
		if m.id != id {
			continue
		}
		m.Kill()
		select {
		case err := <-m.ended:
			m.ended <- err
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("the answer names %q, which is none of the three members", id)
}

// stop drains the members and stops the service.
func (d *demo) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var errs []error
	for _, m := range d.members {
		errs = append(errs, m.Drain(ctx), <-m.ended)
	}
	if d.server != nil {
		errs = append(errs, d.server.shutdown(ctx))
	}
	return errors.Join(errs...)
}
