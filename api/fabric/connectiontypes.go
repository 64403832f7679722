package fabric

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// connectionKind is a data source type in Fabric's words: its name (also that of its one creation method) and its parameters, all of them
// texts and needed, in the order in which a connection's path shows them.
type connectionKind struct {
	word        string
	kind        gateway.DataSourceType
	parameters  []string
	credentials []string
	encryptions []string
}

var (
	database   = []string{"server", "database"}
	logins     = []string{"Basic", "Windows"}
	encryption = []string{"Encrypted", "Any", "NotEncrypted"}
	nowhere    = []string{"NotEncrypted"} // nothing is spoken to over a network
)

// connectionKinds are what members serve.
var connectionKinds = []connectionKind{
	{"SQL", gateway.TypeSQLServer, database, logins, encryption},
	{"PostgreSQL", gateway.TypePostgreSQL, database, logins, encryption},
	{"MySql", gateway.TypeMySQL, database, logins, encryption},
	{"SQLite", gateway.TypeExtension, []string{"path"}, []string{"Anonymous"}, nowhere},
	{"Web", gateway.TypeWeb, []string{"url"}, []string{"Anonymous", "Basic", "Key"}, encryption},
	{"OData", gateway.TypeOData, []string{"url"}, []string{"Anonymous", "Basic", "Key"}, encryption},
	{"File", gateway.TypeFile, []string{"path"}, []string{"Anonymous", "Windows"}, nowhere},
	{"Folder", gateway.TypeFolder, []string{"path"}, []string{"Anonymous", "Windows"}, nowhere},
}

// kindOf finds the kind of a stored data source; every type that can be stored has one.
func kindOf(t gateway.DataSourceType) connectionKind {
	for _, k := range connectionKinds {
		if k.kind == t {
			return k
		}
	}
	return connectionKind{word: string(t), kind: t}
}

// ConnectionDetailsRequest says where a data source is.
type ConnectionDetailsRequest struct {
	Type           string      `json:"type" required:"true" validate:"required" enums:"SQL,PostgreSQL,MySql,SQLite,Web,OData,File,Folder"`
	CreationMethod string      `json:"creationMethod"`
	Parameters     []Parameter `json:"parameters" required:"true" validate:"required"`
}

// Parameter is one part of an address.
type Parameter struct {
	DataType string `json:"dataType" enums:"Text"`
	Name     string `json:"name" required:"true" validate:"required" example:"server"`
	Value    string `json:"value" required:"true" validate:"required" example:"db:5432"`
}

// details turns the parameters into the connection details that the data source keeps.
func (r *ConnectionDetailsRequest) details() (gateway.DataSourceType, string, error) {
	kind, err := r.kind()
	if err != nil {
		return "", "", err
	}
	values := map[string]string{}
	for _, p := range r.Parameters {
		name, err := oneOf("connectionDetails.parameters.name", p.Name, kind.parameters...)
		if err != nil {
			return "", "", err
		}
		if _, err := oneOf("connectionDetails.parameters.dataType", p.DataType, "Text", ""); err != nil {
			return "", "", err
		}
		if _, twice := values[name]; twice {
			return "", "", gateway.Errorf(gateway.CodeInvalid, "The connection parameter %s is given twice.", name)
		}
		values[name] = p.Value
	}
	return kind.kind, kind.text(values), nil
}

func (r *ConnectionDetailsRequest) kind() (connectionKind, error) {
	names := make([]string, len(connectionKinds))
	for i, k := range connectionKinds {
		names[i] = k.word
		if !strings.EqualFold(k.word, r.Type) {
			continue
		}
		if r.CreationMethod != "" {
			_, err := oneOf("connectionDetails.creationMethod", r.CreationMethod, k.word)
			return k, err
		}
		return k, nil
	}
	return connectionKind{}, gateway.Errorf(gateway.CodeUnsupportedDataSource, "Connections of type %q are not supported. Supported are %s.", r.Type, strings.Join(names, ", "))
}

// text is a JSON object with the parameters in the order of the kind, the same for the same values.
func (k connectionKind) text(values map[string]string) string {
	var parts []string
	if k.kind == gateway.TypeExtension {
		parts = append(parts, `"kind":`+quoted(k.word))
	}
	for _, name := range k.parameters {
		if value, ok := values[name]; ok {
			parts = append(parts, quoted(name)+":"+quoted(value))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// quoted is a JSON text; unlike json.Marshal it leaves & and < readable, as they stand in addresses.
func quoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always encodes
	return strings.TrimSpace(b.String())
}

// path shows where a data source is: "server;database", or the one parameter there is.
func (k connectionKind) path(details string) string {
	var sent map[string]any
	if json.Unmarshal([]byte(details), &sent) != nil {
		return ""
	}
	values := map[string]any{}
	for name, value := range sent { // the other surfaces take names in any letter case, and those of custom connectors
		values[strings.TrimPrefix(strings.ToLower(name), "extensiondatasource")] = value
	}
	var parts []string
	for _, name := range k.parameters {
		if text, ok := values[name].(string); ok {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ";")
}

// ConnectionType says what a connection of a type is made of.
type ConnectionType struct {
	Type                               string           `json:"type"`
	CreationMethods                    []CreationMethod `json:"creationMethods"`
	SupportedCredentialTypes           []string         `json:"supportedCredentialTypes"`
	SupportedConnectionEncryptionTypes []string         `json:"supportedConnectionEncryptionTypes"`
	SupportsSkipTestConnection         bool             `json:"supportsSkipTestConnection"`
	// SupportedCredentialTypesForUsageInUserControlledCode is empty: nobody's code gets credentials.
	SupportedCredentialTypesForUsageInUserControlledCode []string `json:"supportedCredentialTypesForUsageInUserControlledCode"`
}

// CreationMethod is one way to say where the data source is.
type CreationMethod struct {
	Name       string          `json:"name"`
	Parameters []ParameterType `json:"parameters"`
}

// ParameterType is a parameter of a creation method.
type ParameterType struct {
	Name     string `json:"name"`
	DataType string `json:"dataType" enums:"Text"`
	Required bool   `json:"required"`
	// AllowedValues is empty: any text is taken.
	AllowedValues []string `json:"allowedValues"`
}

func (k connectionKind) shown() ConnectionType {
	method := CreationMethod{Name: k.word, Parameters: []ParameterType{}}
	for _, name := range k.parameters {
		method.Parameters = append(method.Parameters, ParameterType{name, "Text", true, []string{}})
	}
	return ConnectionType{Type: k.word, CreationMethods: []CreationMethod{method}, SupportedCredentialTypes: k.credentials, SupportedConnectionEncryptionTypes: k.encryptions,
		SupportsSkipTestConnection: true, SupportedCredentialTypesForUsageInUserControlledCode: []string{}}
}

// ListConnectionTypes lists what members serve.
//
//	@Summary	List the supported connection types (Fabric)
//	@Tags		Fabric connections
//	@Produce	json
//	@Security	oauth2
//	@Param		gatewayId				query		string	false	"a gateway on which the caller has a role"	Format(uuid)
//	@Param		showAllCreationMethods	query		bool	false	"accepted; all are shown"
//	@Success	200						{object}	Page[ConnectionType]
//	@Failure	401,404					{object}	ErrorResponse
//	@Router		/v1/connections/supportedConnectionTypes [get]
func (h *Handlers) ListConnectionTypes(c echo.Context) error {
	if text := query(c, "gatewayId"); text != "" {
		id, ok := gateway.ParseID(text)
		if !ok {
			return gateway.Errorf(gateway.CodeInvalid, "gatewayId: %q is not an id (a GUID).", text)
		}
		if err := h.Service.Access.Check(c.Request().Context(), rest.Caller(c), service.SeeCluster, service.Target{Cluster: id}); err != nil {
			return err
		}
	}
	page := Page[ConnectionType]{}
	for _, k := range connectionKinds {
		page.Value = append(page.Value, k.shown())
	}
	return c.JSON(http.StatusOK, page)
}
