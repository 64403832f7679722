package main

import (
	"runtime"
	"runtime/debug"

	"comporta/service/tunnel"
)

// version is the release. A release build sets it with -ldflags "-X main.version=1.2.3".
var version = "0.1.0-dev"

// versionCmd prints what this binary is.
type versionCmd struct{}

// Run prints one fact per line.
func (versionCmd) Run(p *process) error {
	p.printf("comporta %s\ncommit   %s\ntunnel   protocol %s\nbuilt by %s for %s/%s\n", version, commit(), tunnel.Protocol, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

// commit is the commit that the binary was built from, with a mark when the tree had changes.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	found := map[string]string{}
	for _, s := range info.Settings {
		found[s.Key] = s.Value
	}
	switch {
	case found["vcs.revision"] == "":
		return "unknown"
	case found["vcs.modified"] == "true":
		return found["vcs.revision"] + " with changes"
	}
	return found["vcs.revision"]
}
