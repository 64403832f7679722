package connector

import (
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"comporta/service/gateway"
)

// maxDetails bounds connection details, in bytes.
const maxDetails = 8 << 10

// fields reads connection details: one JSON object of strings with the wanted names (any letter case) and no others. Every wanted
// name must be there and not empty.
func fields(details string, wanted ...string) (map[string]string, error) {
	if len(details) > maxDetails {
		return nil, gateway.Errorf(gateway.CodeInvalid, "connectionDetails are longer than %d bytes.", maxDetails)
	}
	raw := map[string]json.RawMessage{}
	if err := gateway.DecodeStrict(strings.NewReader(details), &raw); err != nil || raw == nil {
		return nil, gateway.Errorf(gateway.CodeInvalid, "connectionDetails must be one JSON object.")
	}
	found := map[string]string{}
	var unknown []string
	for name, text := range raw {
		key := strings.ToLower(name)
		if !slices.Contains(wanted, key) {
			unknown = append(unknown, name)
			continue
		}
		var value *string
		if json.Unmarshal(text, &value) != nil || value == nil || found[key] != "" {
			return nil, gateway.Errorf(gateway.CodeInvalid, "connectionDetails: %q must be one string.", name)
		}
		found[key] = strings.TrimSpace(*value)
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return nil, gateway.Errorf(gateway.CodeInvalid, "connectionDetails has unknown properties: %q. Known are: %s.", unknown, strings.Join(wanted, ", "))
	}
	for _, name := range wanted {
		if found[name] == "" || strings.ContainsFunc(found[name], unicode.IsControl) {
			return nil, gateway.Errorf(gateway.CodeInvalid, "connectionDetails: %q is missing, empty or has control characters.", name)
		}
	}
	return found, nil
}

// server is where a database server listens.
type server struct {
	host string
	// port is 0 when the details name none.
	port uint16
	// instance is a named instance of SQL Server, else "".
	instance string
	database string
}

// address returns host:port.
func (s server) address() string { return net.JoinHostPort(s.host, strconv.Itoa(int(s.port))) }

// parseServer reads {"server":"host[:port] or host,port","database":"name"}. fallback is the port when none is given; instances
// (host\name) are accepted where the kind has them.
func parseServer(details string, fallback uint16, instances bool) (server, error) {
	f, err := fields(details, "server", "database")
	if err != nil {
		return server{}, err
	}
	s := server{database: f["database"]}
	host, instance, hasInstance := strings.Cut(f["server"], `\`)
	host, port := splitPort(host)
	if hasInstance {
		var late string
		if instance, late = splitPort(instance); late != "" {
			port = late
		}
	}
	if hasInstance && (!instances || !plainName(instance)) || !plainHost(host) {
		return server{}, gateway.Errorf(gateway.CodeInvalid, "connectionDetails: %q is not a server: host, host:port or host,port is expected.", f["server"])
	}
	s.host, s.instance, s.port = host, instance, fallback
	if hasInstance {
		s.port = 0
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return server{}, gateway.Errorf(gateway.CodeInvalid, "connectionDetails: %q is not a port; it must be between 1 and 65535.", port)
		}
		s.port = uint16(n)
	}
	return s, nil
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
func plainHost(host string) bool {
	if net.ParseIP(host) != nil {
		return true
	}
	return plainName(host)
}

func plainName(name string) bool {
	if name == "" || len(name) > 253 || name[0] == '-' {
		return false
	}
	for _, r := range name {
		if r != '.' && r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return true
}

// login is who logs in to a database.
type login struct{ user, password string }

// loginOf reads the user from the credentials: Basic, and Windows treated as Basic. Other kinds have no meaning for a database.
func loginOf(d *gateway.TaskSource, creds gateway.Credentials) (login, error) {
	switch {
	case strings.EqualFold(d.Credential.Type, "Basic"), strings.EqualFold(d.Credential.Type, "Windows"), d.Credential.Type == "":
		if creds["username"] == "" {
			return login{}, gateway.Errorf(gateway.CodeDataSourceCredentials, "The stored credentials have no user name.")
		}
		return login{user: creds["username"], password: creds["password"]}, nil
	case strings.EqualFold(d.Credential.Type, "Anonymous"):
		return login{}, gateway.Errorf(gateway.CodeDataSourceCredentials, "A database needs a user name; the stored credentials are Anonymous.")
	}
	return login{}, gateway.Errorf(gateway.CodeDataSourceCredentials, "Credentials of type %q cannot log in to a database.", d.Credential.Type)
}

// encryption says how a data source is spoken to.
type encryption int

const (
	// encryptAny: TLS when the server offers it, without verification, plain otherwise.
	encryptAny encryption = iota
	// encryptAlways: TLS with a verified certificate.
	encryptAlways
	// encryptNever: no TLS.
	encryptNever
)

func encryptionOf(d *gateway.TaskSource) (encryption, error) {
	switch strings.ToLower(d.Credential.Encryption) {
	case "encrypted":
		return encryptAlways, nil
	case "any", "":
		return encryptAny, nil
	case "notencrypted":
		return encryptNever, nil
	}
	return 0, gateway.Errorf(gateway.CodeInvalid, "encryptedConnection %q is not one of Encrypted, Any, NotEncrypted.", d.Credential.Encryption)
}
