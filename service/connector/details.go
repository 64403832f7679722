package connector

import (
	"strings"

	"comporta/service/gateway"
)

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
