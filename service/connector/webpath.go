package connector

import (
	"net/url"
	"strings"

	"comporta/service/gateway"
)

// maxWebPath bounds the path of a web request, query included, in bytes.
const maxWebPath = 16 << 10

// join returns the address of path below base. A path that would leave base, however it is encoded, is refused with
// CodeNotAllowedHere; one that is malformed with CodeInvalid.
func join(base *url.URL, path string) (*url.URL, error) {
	if len(path) > maxWebPath || strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' }) {
		return nil, gateway.Errorf(gateway.CodeInvalid, "The path is too long or has spaces, control characters or a fragment.")
	}
	path, query, _ := strings.Cut(path, "?")
	decoded, bad := gateway.DottedPath(path)
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

// within reports whether u is at or below base: same scheme, host and port, and a path that begins with base's.
func within(base, u *url.URL) bool {
	if u.Scheme != base.Scheme || !strings.EqualFold(u.Hostname(), base.Hostname()) || gateway.WebPort(u) != gateway.WebPort(base) || u.User != nil {
		return false
	}
	path, root := u.EscapedPath(), strings.TrimSuffix(base.EscapedPath(), "/")
	if _, bad := gateway.DottedPath(path); bad {
		return false
	}
	return path == root || path == root+"/" || path == "" && root == "" || strings.HasPrefix(path, root+"/")
}
