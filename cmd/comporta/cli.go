package main

import (
	"io"
	"log/slog"
)

// cli is the whole command line.
type cli struct {
	LogFormat string `enum:"text,json" default:"text" help:"How log lines on standard error look: text or json."`
	LogLevel  string `enum:"debug,info,warn,error" default:"info" help:"Which log lines to write: debug, info, warn or error."`

	Serve   serveCmd   `cmd:"" help:"Run the service."`
	Member  memberCmd  `cmd:"" help:"Make this machine a member of a cluster, and run it."`
	Demo    demoCmd    `cmd:"" help:"Show it all on this machine: a service, three members, a database, and a failover."`
	Admin   adminCmd   `cmd:"" help:"Upkeep of a service, over its API."`
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
