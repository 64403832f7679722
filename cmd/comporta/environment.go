package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// fromEnvironment lets every flag come from COMPORTA_ and its name in capitals. What stands on the command line wins, also over a variable
// for another flag that it excludes.
func fromEnvironment(env map[string]string) kong.Resolver {
	return kong.ResolverFunc(func(c *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		value, ok := env[envName(flag.Name)]
		if !ok || excluded(c, flag) {
			return nil, nil
		}
		if flag.IsSlice() {
			return listed(flag.Name, value), nil
		}
		return value, nil
	})
}

// excluded says whether a flag on the command line can't be used together with this one.
func excluded(c *kong.Context, flag *kong.Flag) bool {
	return slices.ContainsFunc(c.Path, func(p *kong.Path) bool {
		return p.Flag != nil && !p.Resolved && p.Flag != flag && slices.ContainsFunc(p.Flag.Xor, func(group string) bool {
			return slices.Contains(flag.Xor, group)
		})
	})
}

// listed takes the value of a flag that may be given again apart: folders are separated as in PATH, other values by commas.
func listed(flag, value string) []any {
	parts := strings.Split(value, ",")
	if flag == "allow-folder" {
		parts = filepath.SplitList(value)
	}
	list := []any{}
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

func envName(flag string) string {
	return "COMPORTA_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
