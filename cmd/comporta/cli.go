package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
)

// cli is the whole command line.
type cli struct {
	LogFormat string `enum:"text,json" default:"text" help:"How log lines on standard error look: text or json."`
	LogLevel  string `enum:"debug,info,warn,error" default:"info" help:"Which log lines to write: debug, info, warn or error."`
	Profile   string `hidden:"" placeholder:"DIR" help:"Where to write a CPU profile of the whole run; for bench dispatch."`

	Serve   serveCmd   `cmd:"" help:"Run the service."`
	Member  memberCmd  `cmd:"" help:"Make this machine a member of a cluster, and run it."`
	Demo    demoCmd    `cmd:"" help:"Show it all on this machine: a service, three members, a database, and a failover."`
	Admin   adminCmd   `cmd:"" help:"Upkeep of a service, over its API."`
	Rescue  rescueCmd  `cmd:"" help:"Make a new administrator on the state of a service that is stopped, when nobody can log in any more."`
	Bench   benchCmd   `cmd:"" help:"Generate load and measure."`
	Version versionCmd `cmd:"" help:"Print version, commit and protocol versions."`
}

// newLog makes the process's log on standard error.
func newLog(w io.Writer, format, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usagef("--log-level: %w", err)
	}
	options := &slog.HandlerOptions{Level: l}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return slog.New(slog.NewTextHandler(w, options)), nil
}

// profile writes a CPU profile of the process, and what it allocated, into a folder until stop is called. Without a folder it does nothing.
func profile(dir, command string) (stop func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	name := filepath.Join(dir, fmt.Sprintf("%s-%d", strings.ReplaceAll(command, " ", "-"), os.Getpid()))
	f, err := os.Create(name + ".cpu")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
		if f, err := os.Create(name + ".allocs"); err == nil {
			_ = pprof.Lookup("allocs").WriteTo(f, 0)
			f.Close()
		}
	}, nil
}
