package connector

import (
	"net/url"
	"strings"

	"comporta/service/gateway"
)

// maxWebPath bounds the path of a web request, query included, in bytes.
const maxWebPath = 16 << 10

// parseBase reads a registered web address: http or https, a host, perhaps a path and a query that every request gets. No user, no
// fragment.
func parseBase(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return nil, gateway.Errorf(gateway.CodeInvalid, "connectionDetails: \"url\" must be an http or https address without user and fragment.")
	}
	if _, bad := dotted(u.EscapedPath()); bad {
		return nil, gateway.Errorf(gateway.CodeInvalid, "connectionDetails: the path of \"url\" must not contain . or .. segments.")
	}
	return u, nil
}

// join returns the address of path below base. A path that would leave base, however it is encoded, is refused with
// CodeNotAllowedHere; one that is malformed with CodeInvalid.
func join(base *url.URL, path string) (*url.URL, error) {
	if len(path) > maxWebPath || strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' }) {
		return nil, gateway.Errorf(gateway.CodeInvalid, "The path is too long or has spaces, control characters or a fragment.")
	}
	path, query, _ := strings.Cut(path, "?")
	decoded, bad := dotted(path)
	if bad || strings.HasPrefix(path, "//") || strings.HasPrefix(decoded, "//") {
		return nil, gateway.Errorf(gateway.CodeNotAllowedHere, "The path %q leaves the registered address.", path)
	}
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ":") {
		return nil, gateway.Errorf(gateway.CodeNotAllowedHere, "The path must be relative to the registered address.")
	}
	target := *base
	if path != "" {
		raw := strings.TrimSuffix(base.EscapedPath(), "/") + "/" + strings.TrimPrefix(path, "/")
		plain, err := url.PathUnescape(raw)
		if err != nil {
			return nil, gateway.Errorf(gateway.CodeInvalid, "The path %q has a malformed percent escape.", path)
		}
		target.Path, target.RawPath = plain, raw
	}
	target.RawQuery = strings.Trim(base.RawQuery+"&"+query, "&")
	if !within(base, &target) {
		return nil, gateway.Errorf(gateway.CodeNotAllowedHere, "The path %q leaves the registered address.", path)
	}
	return &target, nil
}

// dotted reports whether a path has a segment that some server could read as . or .., whatever it is encoded with, and returns the path
// decoded as far as that goes.
func dotted(path string) (decoded string, bad bool) {
	for range 4 {
		if strings.Contains(path, `\`) {
			return path, true
		}
		for segment := range strings.SplitSeq(path, "/") {
			name, _, _ := strings.Cut(segment, ";")
			if name = strings.TrimFunc(name, func(r rune) bool { return r <= ' ' }); name == "." || name == ".." {
				return path, true
			}
		}
		next, err := url.PathUnescape(path)
		if err != nil || next == path {
			return path, false
		}
		path = next
	}
	return path, true // nobody means well who encodes four times
}

// within reports whether u is at or below base: same scheme, host and port, and a path that begins with base's.
func within(base, u *url.URL) bool {
	if u.Scheme != base.Scheme || !strings.EqualFold(u.Hostname(), base.Hostname()) || portOf(u) != portOf(base) || u.User != nil {
		return false
	}
	path, root := u.EscapedPath(), strings.TrimSuffix(base.EscapedPath(), "/")
	if _, bad := dotted(path); bad {
		return false
	}
	return path == root || path == root+"/" || path == "" && root == "" || strings.HasPrefix(path, root+"/")
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
