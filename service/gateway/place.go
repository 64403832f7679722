package gateway

import (
	"encoding/json"
	"io"
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// maxDetails bounds connection details, in bytes.
const maxDetails = 8 << 10

// Place is where a data source is, read from its connection details. The service reads it when a data source is registered and the member
// when it connects, so that what the one takes the other takes.
type Place struct {
	// Host, Port, Instance and Database are a database server's. Port is the kind's own when none is named, and 0 beside an Instance, which
	// is a named instance of SQL Server and else "".
	Host, Instance, Database string
	Port                     uint16
	// URL is a web address.
	URL *url.URL
	// Path is a file or a folder on the members' machines.
	Path string
}

// Address returns host:port.
func (p Place) Address() string { return net.JoinHostPort(p.Host, strconv.Itoa(int(p.Port))) }

// Same reports whether two places are one, however they are written. What might be another place counts as another.
func (p Place) Same(o Place) bool {
	if p.URL == nil || o.URL == nil {
		return p.URL == o.URL && strings.EqualFold(p.Host, o.Host) && strings.EqualFold(p.Instance, o.Instance) && p.Port == o.Port &&
			p.Database == o.Database && p.Path == o.Path
	}
	return p.URL.Scheme == o.URL.Scheme && strings.EqualFold(p.URL.Hostname(), o.URL.Hostname()) && WebPort(p.URL) == WebPort(o.URL) &&
		strings.TrimSuffix(p.URL.EscapedPath(), "/") == strings.TrimSuffix(o.URL.EscapedPath(), "/") && p.URL.RawQuery == o.URL.RawQuery
}

// placeKinds say what the details of each kind are made of.
var placeKinds = map[DataSourceType]struct {
	needs []string
	port  uint16
	read  func(found map[string]string, port uint16, instances bool) (Place, error)
}{
	TypeSQLServer:  {[]string{"server", "database"}, 1433, readServer},
	TypePostgreSQL: {[]string{"server", "database"}, 5432, readServer},
	TypeMySQL:      {[]string{"server", "database"}, 3306, readServer},
	TypeExtension:  {[]string{"kind", "path"}, 0, readPath},
	TypeWeb:        {[]string{"url"}, 0, readURL},
	TypeOData:      {[]string{"url"}, 0, readURL},
	TypeFile:       {[]string{"path"}, 0, readPath},
	TypeFolder:     {[]string{"path"}, 0, readPath},
}

// ParsePlace reads connection details: one JSON object of texts with the properties that the kind needs (in any letter case) and no
// others. Errors are CodeInvalid and CodeUnsupportedDataSource; they repeat no address, for it may hold a secret by mistake.
func ParsePlace(t DataSourceType, details string) (Place, error) {
	kind, ok := placeKinds[t]
	if !ok {
		return Place{}, Errorf(CodeUnsupportedDataSource, "Data sources of type %q are not served.", string(t))
	}
	found, unknown, err := properties(details, kind.needs)
	if err != nil {
		return Place{}, err
	}
	if word := found["kind"]; t == TypeExtension && word != "" && !strings.EqualFold(word, "SQLite") {
		return Place{}, Errorf(CodeUnsupportedDataSource, "Extension data sources of kind %q are not supported. Supported is SQLite.", word)
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return Place{}, Errorf(CodeInvalid, "connectionDetails has unknown properties: %q. A %s data source has: %s.", unknown, t, strings.Join(kind.needs, ", "))
	}
	for _, name := range kind.needs {
		if found[name] == "" || strings.ContainsFunc(found[name], unicode.IsControl) {
			return Place{}, Errorf(CodeInvalid, "connectionDetails of a %s data source must have %q; it is missing, empty or has control characters.", t, name)
		}
	}
	return kind.read(found, kind.port, t == TypeSQLServer)
}

// aliases are the names that custom connectors have for kind and path.
var aliases = map[string]string{"extensiondatasourcekind": "kind", "extensiondatasourcepath": "path"}

// otherKinds are properties of other kinds than ours that clients with typed models send along as null.
var otherKinds = []string{"server", "database", "url", "path", "kind", "account", "domain", "emailaddress", "loginserver", "classinfo"}

// properties reads the object token by token, because a map would hide a property that stands twice.
func properties(details string, wanted []string) (found map[string]string, unknown []string, err error) {
	if len(details) > maxDetails {
		return nil, nil, Errorf(CodeInvalid, "connectionDetails are longer than %d bytes.", maxDetails)
	}
	malformed := Errorf(CodeInvalid, `connectionDetails must be the text of a JSON object, such as {"server":"db:5432","database":"sales"}.`)
	d := json.NewDecoder(strings.NewReader(details))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, nil, malformed
	}
	r := detailReader{wanted: wanted, found: map[string]string{}}
	for d.More() {
		var value any
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok || d.Decode(&value) != nil {
			return nil, nil, malformed
		}
		if err := r.take(name, value); err != nil {
			return nil, nil, err
		}
	}
	_, closed := d.Token()
	if _, after := d.Token(); closed != nil || after != io.EOF {
		return nil, nil, malformed
	}
	return r.found, r.unknown, nil
}

// detailReader gathers properties.
type detailReader struct {
	wanted, unknown []string
	found           map[string]string
}

func (r *detailReader) take(name string, value any) error {
	key := strings.ToLower(name)
	if alias, ok := aliases[key]; ok && slices.Contains(r.wanted, "kind") {
		key = alias
	}
	if _, twice := r.found[key]; twice {
		return Errorf(CodeInvalid, "connectionDetails has the property %q twice.", key)
	}
	text, isText := value.(string)
	r.found[key] = strings.TrimSpace(text)
	switch {
	case !slices.Contains(r.wanted, key):
		if value != nil || !slices.Contains(otherKinds, key) {
			r.unknown = append(r.unknown, name)
		}
	case !isText:
		return Errorf(CodeInvalid, "connectionDetails: %q must be one string.", name)
	}
	return nil
}

// readServer takes host, host:port and host,port, and host\instance where the kind has instances.
func readServer(found map[string]string, port uint16, instances bool) (Place, error) {
	p := Place{Database: found["database"], Port: port}
	host, instance, hasInstance := strings.Cut(found["server"], `\`)
	host, named := splitPort(host)
	if hasInstance {
		var late string
		if instance, late = splitPort(instance); late != "" {
			named = late
		}
		p.Port = 0
	}
	if hasInstance && (!instances || !plainName(instance)) || !plainHost(host) {
		return Place{}, Errorf(CodeInvalid, `connectionDetails: "server" is not a server: a host name or IP address is expected, or host:port or host,port.`)
	}
	p.Host, p.Instance = host, instance
	return p, p.setPort(named)
}

// setPort takes a port that is named; "" leaves it as it is.
func (p *Place) setPort(text string) error {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return Errorf(CodeInvalid, "connectionDetails: the port is not a number between 1 and 65535.")
	}
	p.Port = uint16(n)
	return nil
}

// splitPort takes apart host:port, host,port, [v6]:port and a bare host or IPv6 address. port is "" when there is none.
func splitPort(text string) (host, port string) {
	text = strings.TrimSpace(text)
	if len(text) > 4 && strings.EqualFold(text[:4], "tcp:") {
		text = text[4:]
	}
	if before, after, ok := strings.Cut(text, ","); ok {
		return strings.Trim(strings.TrimSpace(before), "[]"), strings.TrimSpace(after)
	}
	if strings.HasPrefix(text, "[") {
		if host, port, err := net.SplitHostPort(text); err == nil {
			return host, port
		}
		return strings.Trim(text, "[]"), ""
	}
	if strings.Count(text, ":") == 1 {
		host, port, _ = strings.Cut(text, ":")
		return host, port
	}
	return text, ""
}

// plainHost accepts a DNS name or an IP address, and nothing that a driver could read as a socket path or as options.
func plainHost(host string) bool { return net.ParseIP(host) != nil || plainName(host) }

func plainName(name string) bool {
	if name == "" || len(name) > 253 || name[0] == '-' || name[0] == '.' {
		return false
	}
	for _, r := range name {
		if r != '.' && r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return true
}

// readPath takes an absolute path, as the members' operating system writes one: /data/x, C:\data\x or \\server\share\x.
func readPath(found map[string]string, _ uint16, _ bool) (Place, error) {
	p := found["path"]
	drive := len(p) > 2 && p[1] == ':' && (p[2] == '\\' || p[2] == '/') && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
	switch {
	case strings.HasPrefix(p, "/"):
		return Place{Path: path.Clean(p)}, nil
	case drive, strings.HasPrefix(p, `\\`):
		return Place{Path: p}, nil
	}
	return Place{}, Errorf(CodeInvalid, `connectionDetails: "path" must be an absolute path on the members' machines, such as /data/sales.csv.`)
}

// readURL takes an http or https address: a host, perhaps a path and a query that every request gets. No user, no fragment.
func readURL(found map[string]string, _ uint16, _ bool) (Place, error) {
	u, err := url.Parse(found["url"])
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Fragment != "":
		return Place{}, Errorf(CodeInvalid, `connectionDetails: "url" must be an http or https address without fragment, such as https://host/path.`)
	case u.User != nil:
		return Place{}, Errorf(CodeInvalid, `connectionDetails: "url" must not hold a user or a password, for connection details are shown: put the secret into the credentials.`)
	}
	host, _, _ := strings.Cut(u.Hostname(), "%") // the zone of an IPv6 address
	if !plainHost(host) {
		return Place{}, Errorf(CodeInvalid, `connectionDetails: "url" must name a host.`)
	}
	if _, bad := DottedPath(u.EscapedPath()); bad {
		return Place{}, Errorf(CodeInvalid, `connectionDetails: the path of "url" must not contain . or .. segments.`)
	}
	p := Place{URL: u}
	return p, (&Place{}).setPort(u.Port())
}

// WebPort returns the port that a web address means.
func WebPort(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// DottedPath reports whether a path has a segment that some server could read as . or .., whatever it is encoded with, and returns the
// path decoded as far as that goes.
func DottedPath(path string) (decoded string, bad bool) {
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

// loginTypes are the credential types that a kind logs in with; a kind that is not here (a file) logs in to nothing.
var loginTypes = map[DataSourceType][]string{
	TypeSQLServer:  {"Basic", "Windows"},
	TypePostgreSQL: {"Basic", "Windows"},
	TypeMySQL:      {"Basic", "Windows"},
	TypeWeb:        {"Anonymous", "Basic", "Key", "Windows"},
	TypeOData:      {"Anonymous", "Basic", "Key", "Windows"},
}

// CheckLogin refuses credentials of a type with which members cannot log in to this kind, with CodeCredentialFormat.
func (t DataSourceType) CheckLogin(credentialType string) error {
	words, needed := loginTypes[t]
	if !needed || slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, credentialType) }) {
		return nil
	}
	return Errorf(CodeCredentialFormat, "A %s data source cannot be logged in to with credentials of type %q; credentialType must be one of %s.", t, credentialType, strings.Join(words, ", "))
}
