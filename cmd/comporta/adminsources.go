package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"comporta/service/credential"
	"comporta/service/gateway"
)

// datasourceCmd is upkeep of a cluster's data sources.
type datasourceCmd struct {
	List        listSourcesCmd  `cmd:"" help:"List a cluster's data sources."`
	Add         addSourceCmd    `cmd:"" help:"Register a data source; its credentials are encrypted here, for the members alone."`
	Credentials credentialsCmd  `cmd:"" help:"Replace a data source's credentials, encrypted here."`
	Status      sourceStatusCmd `cmd:"" help:"Ask a member to connect and log in."`
	Users       sourceUsersCmd  `cmd:"" help:"Who may use a data source."`
	Delete      deleteSourceCmd `cmd:"" help:"Remove a data source."`
}

// login is how credentials come in: the user name from a flag, the secret from the environment, a file or a prompt.
type login struct {
	CredentialType string `default:"Basic" enum:"Basic,Windows,Key,Anonymous" help:"Basic, Windows, Key or Anonymous."`
	Username       string `help:"The user name, for Basic and Windows."`
	PasswordFile   string `placeholder:"FILE" help:"Read the password or key from this file; else it comes from COMPORTA_PASSWORD or a prompt."`
}

// pairs reads the credentials.
func (l *login) pairs(ctx context.Context, p *process) (credential.Pairs, error) {
	if l.CredentialType == "Anonymous" {
		return credential.Anonymous(), nil
	}
	if l.Username == "" && l.CredentialType != "Key" {
		return nil, usagef("--username is missing")
	}
	text, err := p.read(ctx, secret{what: "data source password", env: "COMPORTA_PASSWORD", file: l.PasswordFile, fileFlag: "password-file"})
	switch {
	case err != nil:
		return nil, err
	case l.CredentialType == "Key":
		return credential.Key(text), nil
	}
	return credential.Basic(l.Username, text), nil
}

type encryptCmd struct {
	Cluster string `arg:"" help:"The cluster's id."`
	login
}

// Run prints the envelope, ready for credentialDetails.credentials.
func (cmd *encryptCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	pairs, err := cmd.pairs(ctx, p)
	if err != nil {
		return err
	}
	key, err := c.publicKey(ctx, cluster)
	if err != nil {
		return err
	}
	envelope, err := credential.Seal(key, pairs, rand.Reader)
	if err == nil {
		p.printf("%s\n", envelope)
	}
	return err
}

type listSourcesCmd struct {
	Cluster string `arg:"" help:"The cluster's id."`
}

// Run lists data sources.
func (cmd listSourcesCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	list, err := c.listOf(ctx, clusterPath(cluster)+"/datasources")
	if err != nil {
		return err
	}
	return root.Admin.show(p, list, "id", "datasourceName", "datasourceType", "connectionDetails", "credentialType")
}

type addSourceCmd struct {
	Cluster    string `arg:"" help:"The cluster's id."`
	Name       string `required:"" help:"The data source's name."`
	Kind       string `required:"" enum:"Sql,PostgreSql,MySql,SQLite,Web,OData,File,Folder" help:"Sql, PostgreSql, MySql, SQLite, Web, OData, File or Folder."`
	DBServer   string `name:"db-server" placeholder:"HOST:PORT" help:"The database's host and port, as the members see it."`
	Database   string `name:"db-name" help:"The database's name."`
	Path       string `help:"The file or folder, for SQLite, File and Folder; it must lie under a folder that the members allow."`
	URL        string `name:"url" help:"The address, for Web and OData."`
	Encryption string `default:"Encrypted" enum:"Encrypted,Any,NotEncrypted" help:"How the data source is to be spoken to: Encrypted, Any or NotEncrypted."`
	login
}

// Run encrypts the credentials and registers the data source.
func (cmd *addSourceCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	source := &newSource{Name: cmd.Name, CredentialType: cmd.CredentialType, Encryption: cmd.Encryption}
	if err := cmd.describe(source); err != nil {
		return err
	}
	if source.Pairs, err = cmd.pairs(ctx, p); err != nil {
		return err
	}
	id, err := c.addDataSource(ctx, cluster, source)
	if err != nil {
		return err
	}
	if err := root.Admin.showOne(p, map[string]any{"id": id, "datasourceName": cmd.Name, "datasourceType": source.Type}, "id", "datasourceName", "datasourceType"); err != nil {
		return err
	}
	// Registering does not connect, so a slip would show at the first query only.
	if err := c.call(ctx, http.MethodGet, clusterPath(cluster)+"/datasources/"+id.String()+"/status", nil, nil); err != nil {
		fmt.Fprintf(p.stderr, "comporta: it is registered, but a member cannot use it yet: %s\n", oneLine(err))
	}
	return nil
}

// describe turns the flags into type and connection details.
func (cmd *addSourceCmd) describe(s *newSource) error {
	s.Type = gateway.DataSourceType(cmd.Kind)
	switch {
	case cmd.Kind == "SQLite":
		s.Type, s.Details = gateway.TypeExtension, map[string]string{"kind": "SQLite", "path": cmd.Path}
	case s.Type == gateway.TypeFile, s.Type == gateway.TypeFolder:
		s.Details = map[string]string{"path": cmd.Path}
	case s.Type == gateway.TypeWeb, s.Type == gateway.TypeOData:
		s.Details = map[string]string{"url": cmd.URL}
	default:
		s.Details = map[string]string{"server": cmd.DBServer, "database": cmd.Database}
	}
	flags := map[string]string{"kind": "--kind", "path": "--path", "url": "--url", "server": "--db-server", "database": "--db-name"}
	for name, value := range s.Details {
		if value == "" {
			return usagef("%s is missing; a %s data source needs it", flags[name], cmd.Kind)
		}
	}
	return nil
}

// sourceArgs name one data source.
type sourceArgs struct {
	Cluster    string `arg:"" help:"The cluster's id."`
	DataSource string `arg:"" name:"data-source" help:"The data source's id."`
}

func (a *sourceArgs) path(cluster gateway.ID) string {
	return clusterPath(cluster) + "/datasources/" + url.PathEscape(a.DataSource)
}

type credentialsCmd struct {
	sourceArgs
	Encryption string `default:"" enum:",Encrypted,Any,NotEncrypted" help:"How the data source is to be spoken to: Encrypted, Any or NotEncrypted; left out, it stays as it is."`
	login
}

// Run replaces the credentials; every member uses the new ones from its next request on.
func (cmd *credentialsCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	pairs, err := cmd.pairs(ctx, p)
	if err != nil {
		return err
	}
	sealed, err := c.sealed(ctx, cluster, &newSource{CredentialType: cmd.CredentialType, Pairs: pairs, Encryption: cmd.Encryption})
	if err != nil {
		return err
	}
	err = c.call(ctx, http.MethodPatch, cmd.path(cluster)+"/credentials", map[string]any{"credentialDetails": sealed}, nil)
	if err == nil {
		p.printf("the credentials were replaced; comporta admin datasource status tries them\n")
	}
	return err
}

type sourceStatusCmd struct{ sourceArgs }

// Run probes the data source.
func (cmd *sourceStatusCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	err = c.call(ctx, http.MethodGet, cmd.path(cluster)+"/status", nil, nil)
	if err == nil {
		p.printf("it can be reached and logs in\n")
	}
	return err
}

type deleteSourceCmd struct{ sourceArgs }

// Run removes the data source.
func (cmd *deleteSourceCmd) Run(ctx context.Context, p *process, root *cli) error {
	_, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	return root.Admin.remove(ctx, p, cmd.path(cluster))
}

type queryCmd struct {
	sourceArgs
	Text    string `arg:"" help:"The statement."`
	Write   bool   `help:"It may write; it is then never run twice."`
	MaxRows int64  `help:"End after so many rows; 0 is all."`
	Format  string `default:"table" enum:"table,json,ndjson,csv" help:"table, json, ndjson or csv; all but table are streamed."`
}

// Run sends the query and prints the rows; A table says who served it.
func (cmd *queryCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	formats := map[string]gateway.Format{"table": gateway.FormatJSON, "json": gateway.FormatJSON, "ndjson": gateway.FormatNDJSON, "csv": gateway.FormatCSV}
	c.http.Timeout = 0 // an answer may take as long as its reader
	resp, err := c.dispatch(ctx, cluster, &queryCall{DataSource: gateway.ID(cmd.DataSource), Text: cmd.Text, Write: cmd.Write, MaxRows: cmd.MaxRows}, formats[cmd.Format])
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if cmd.Format != "table" {
		n, err := io.Copy(p.stdout, resp.Body)
		if err != nil && p.outputLost() {
			return err // the rest of the answer is of no use
		}
		return incomplete(resp, err, fmt.Sprintf("%d bytes", n))
	}
	answer, err := readRows(resp)
	if err := incomplete(resp, err, "nothing"); err != nil {
		return err
	}
	p.printf("%s, served by %s\n", answer.summary(), answer.servedBy)
	return nil
}

// incomplete says of an answer that broke off that it is not whole: by the trailer when the member could still tell, else by the connection.
func incomplete(resp *http.Response, err error, written string) error {
	_, _ = io.Copy(io.Discard, resp.Body) // trailers come after the end
	told := resp.Trailer.Get("X-Gateway-Error")
	if told == "" && err == nil {
		return nil
	}
	var broken *gateway.Error
	if told == "" && errors.As(err, &broken) {
		return err
	}
	if told == "" {
		told = fmt.Sprintf("the connection ended before the answer did (%v); the member or the service went away", err)
	}
	return fmt.Errorf("the answer of member %q is incomplete, %s of it came: %s; request %s", memberName(resp), written, told, resp.Header.Get("RequestId"))
}
