package gateway

import (
	"strings"
	"time"
)

// DataSourceType is the kind of a data source, by Power BI's word.
type DataSourceType string

// The kinds that members serve.
const (
	TypeSQLServer  DataSourceType = "Sql"
	TypePostgreSQL DataSourceType = "PostgreSql"
	TypeMySQL      DataSourceType = "MySql"
	// TypeExtension carries its real kind in the connection details ("kind"); SQLite is the one served.
	TypeExtension DataSourceType = "Extension"
	TypeWeb       DataSourceType = "Web"
	TypeOData     DataSourceType = "OData"
	TypeFile      DataSourceType = "File"
	TypeFolder    DataSourceType = "Folder"
)

// ServedTypes lists the kinds that members serve, in the order in which messages name them.
var ServedTypes = []DataSourceType{TypeSQLServer, TypePostgreSQL, TypeMySQL, TypeExtension, TypeWeb, TypeOData, TypeFile, TypeFolder}

// typeNumbers are the numbers of the whole Power BI enumeration; requests may carry them instead of words. Source: reference, A.4.
var typeNumbers = []string{
	"Sql", "AnalysisServices", "SAPHana", "File", "Folder", "Oracle", "Teradata", "SharePointList", "Web", "", "DB2", "MySql",
	"PostgreSql", "Sybase", "Extension", "SAPBW", "AzureTables", "AzureBlobs", "Informix", "ODBC", "Excel", "SharePoint", "PubNub",
	"MQ", "BizTalk", "GoogleAnalytics", "CustomHttpApi", "Exchange", "Facebook", "HDInsight", "AzureMarketplace", "ActiveDirectory",
	"Hdfs", "SharePointDocLib", "PowerQueryMashup", "OleDb", "AdoDotNet", "R", "LOB", "Salesforce", "CustomConnector",
	"SAPBWMessageServer", "AdobeAnalytics", "Essbase",
}

func init() { typeNumbers[9] = string(TypeOData) }

// KnownType finds a type of the whole Power BI enumeration by its word, in any letter case. Not every known type is served.
func KnownType(word string) (DataSourceType, bool) {
	for _, name := range typeNumbers {
		if strings.EqualFold(name, word) {
			return DataSourceType(name), true
		}
	}
	for _, name := range []string{"AzureDataLakeStorage", "SapErp", "UIFlow"} {
		if strings.EqualFold(name, word) {
			return DataSourceType(name), true
		}
	}
	return "", false
}

// TypeByNumber finds a type by its Power BI number (Sql is 0, Essbase 43).
func TypeByNumber(n int) (DataSourceType, bool) {
	if n < 0 || n >= len(typeNumbers) {
		return "", false
	}
	return DataSourceType(typeNumbers[n]), true
}

// Served reports whether members serve this kind.
func (t DataSourceType) Served() bool {
	for _, s := range ServedTypes {
		if s == t {
			return true
		}
	}
	return false
}

// DataSource is a database, web address or folder on the private network, registered on the cluster.
type DataSource struct {
	ID        ID
	ClusterID ID
	Name      string
	Type      DataSourceType
	// ConnectionDetails is a deterministic JSON text such as {"server":"db:5432","database":"sales"}, returned byte for byte.
	ConnectionDetails string
	Annotation        string
	SingleSignOn      string
	Credential        StoredCredential
	CreatedAt         time.Time
}

// StoredCredential is what the service keeps of a data source's credentials: an envelope that only members can open.
type StoredCredential struct {
	// Type is Basic, Windows, Anonymous, Key, OAuth2, …
	Type string `json:"type"`
	// Encryption is how the data source is to be spoken to: Encrypted, Any or NotEncrypted.
	Encryption string `json:"encryption"`
	Privacy    string `json:"privacy"`
	// Algorithm is RSA-OAEP, or "" when there is nothing to open (Anonymous without an envelope).
	Algorithm string `json:"algorithm"`
	// Envelope is the text that the client made with the cluster's public key.
	Envelope string `json:"envelope"`
	// Version grows with every update; members key their connection pools with it.
	Version  int64 `json:"version"`
	SkipTest bool  `json:"skipTest,omitempty"`
}

// Credentials are opened credentials: names such as username, password, key, and their values. They exist on members only and never
// print themselves.
type Credentials map[string]string

// String hides the values.
func (Credentials) String() string { return "[credentials]" }

// GoString hides the values.
func (Credentials) GoString() string { return "[credentials]" }

// MarshalText hides the values, so that credentials cannot slip into logs.
func (Credentials) MarshalText() ([]byte, error) { return []byte("[credentials]"), nil }

// MarshalJSON hides the values.
func (Credentials) MarshalJSON() ([]byte, error) { return []byte(`"[credentials]"`), nil }
