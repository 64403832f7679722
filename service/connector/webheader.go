package connector

import (
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"comporta/service/gateway"
)

// maxWebHeaders bounds the headers that a caller may set.
const maxWebHeaders = 100

// overridingHeaders make some servers run another method than the request line's.
var overridingHeaders = []string{"x-http-method-override", "x-http-method", "x-method-override"}

// leadingAwayHeaders make some servers take another path or another host than the request line's and Host, which are the registered ones:
// the first by IIS and frameworks that were made for it, the next by servers that ask another one whether a request may pass, the others
// by servers that choose a site by its name and believe to be behind a proxy. A member is no such proxy and cannot vouch for them.
//
// Passed on are those that say who asks or what links in the answer are to look like, and not where the request goes: X-Forwarded-For,
// X-Real-IP, X-Forwarded-Proto, X-Forwarded-Port, X-Forwarded-Prefix. A server that lets somebody in for such a header lets in every
// machine on its network.
var leadingAwayHeaders = []string{
	"x-original-url", "x-rewrite-url", "x-original-uri", "x-forwarded-uri",
	"x-forwarded-host", "x-forwarded-server", "x-original-host", "x-host", "x-http-host-override", "forwarded",
}

// checkHeaders refuses headers with which a request would leave the registered address, or would write although it is to read.
func checkHeaders(headers map[string]string, readOnly bool) error {
	for name := range headers {
		plain := strings.ToLower(strings.ReplaceAll(name, "_", "-")) // servers behind CGI cannot tell _ from -
		switch {
		case slices.Contains(leadingAwayHeaders, plain):
			return gateway.Errorf(gateway.CodeNotAllowedHere, "The header %q may lead the request away from the registered address.", name)
		case readOnly && slices.Contains(overridingHeaders, plain):
			return writes("the header " + strconv.Quote(name) + " may make the server do something else")
		}
	}
	return nil
}

// droppedHeaders are not the caller's to set: they belong to the connection or come from the stored credentials. Proxy is nobody's: CGI makes
// of it the variable that names a program's proxy.
var droppedHeaders = []string{
	"Host", "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Proxy", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Content-Length", "Authorization", "Accept-Encoding", "Expect",
}

// copyHeaders takes over the caller's headers, except those that are not the caller's to set and those that Connection names.
func copyHeaders(to http.Header, from map[string]string) error {
	if len(from) > maxWebHeaders {
		return gateway.Errorf(gateway.CodeInvalid, "The request has %d headers; %d are allowed.", len(from), maxWebHeaders)
	}
	dropped := droppedHeaders
	for name, value := range from {
		if strings.EqualFold(name, "Connection") {
			for option := range strings.SplitSeq(value, ",") {
				dropped = append(slices.Clone(dropped), textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(option)))
			}
		}
	}
	for name, value := range from {
		if !validHeaderName(name) || !validHeaderValue(value) {
			return gateway.Errorf(gateway.CodeInvalid, "The header %q is malformed.", name)
		}
		if !slices.Contains(dropped, textproto.CanonicalMIMEHeaderKey(name)) {
			to.Set(name, value)
		}
	}
	return nil
}

func validHeaderName(name string) bool {
	for i := range len(name) {
		b := name[i]
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(b)) {
			return false
		}
	}
	return name != ""
}

func validHeaderValue(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
