package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// adminCmd is upkeep over the API: it can do nothing that the client id and secret may not do.
type adminCmd struct {
	Server string `default:"http://127.0.0.1:8085" placeholder:"URL" help:"The address of the service. Default: http://127.0.0.1:8085."`
	CAFile string `name:"ca-file" placeholder:"FILE" help:"Trust the certificate authorities in this file (PEM) too."`
	JSON   bool   `name:"json" help:"Print JSON instead of a table."`

	Principals  principalsCmd  `cmd:"" help:"Users, applications and groups."`
	Clusters    clustersCmd    `cmd:"" help:"Clusters: list, show, change, delete."`
	Members     membersCmd     `cmd:"" help:"A cluster's members: list, disable, drain, limit, promote, remove."`
	Permissions permissionsCmd `cmd:"" help:"Who may do what on a cluster."`
	Datasource  datasourceCmd  `cmd:"" help:"Data sources of a cluster, and who may use them."`
	Encrypt     encryptCmd     `cmd:"" help:"Encrypt credentials with a cluster's public key and print the envelope."`
	Query       queryCmd       `cmd:"" help:"Send a query to a data source and print the rows."`
	Records     recordsCmd     `cmd:"" help:"List the last requests of a cluster: who served them, and how they ended."`
	Audit       auditCmd       `cmd:"" help:"Print the audit log."`
	Policy      policyCmd      `cmd:"" help:"Show or set who may create clusters and join members."`
	Recovery    recoveryKeyCmd `cmd:"" name:"recovery-key" help:"Change a cluster's recovery key."`
}

// client logs in with COMPORTA_CLIENT_ID and COMPORTA_CLIENT_SECRET.
func (c *adminCmd) client(p *process) (*apiClient, error) {
	id, secret, err := p.clientCredentials()
	if err != nil {
		return nil, err
	}
	h, err := httpClient(c.CAFile)
	if err != nil {
		return nil, err
	}
	return newAPIClient(h, c.Server, id, secret), nil
}

// show prints a list of objects as a table with these properties as columns, or as JSON.
func (c *adminCmd) show(p *process, list []map[string]any, columns ...string) error {
	if c.JSON {
		return printJSON(p, list)
	}
	lines := make([][]string, len(list))
	for i, object := range list {
		for _, column := range columns {
			lines[i] = append(lines[i], plainText(object[column]))
		}
	}
	p.printf("%s", table(columns, lines))
	return nil
}

// showOne prints one object as a table of one line, or as a JSON object.
func (c *adminCmd) showOne(p *process, object map[string]any, columns ...string) error {
	if c.JSON {
		return printJSON(p, object)
	}
	return c.show(p, []map[string]any{object}, columns...)
}

// printJSON writes what would steer a terminal as escapes, which mean the same.
func printJSON(p *process, v any) error {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	var out strings.Builder
	for _, r := range text.String() {
		if r != '\n' && steers(r) { // it is within a string, where alone it may be
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	_, err := io.WriteString(p.stdout, out.String())
	return err
}

// plainText writes a value into a table's cell; a text from elsewhere must not steer a terminal.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		return fmt.Sprint(len(v))
	}
	return unsteering(fmt.Sprint(v))
}
