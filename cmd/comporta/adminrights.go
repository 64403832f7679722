package main

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"comporta/service/gateway"
)

// permissionsCmd is who may do what on a cluster.
type permissionsCmd struct {
	List   listPermissionsCmd  `cmd:"" help:"List who has a role on a cluster."`
	Set    setPermissionCmd    `cmd:"" help:"Give a principal a role on a cluster, or another one."`
	Remove removePermissionCmd `cmd:"" help:"Take a principal's role away."`
}

type listPermissionsCmd struct {
	Cluster string `arg:"" help:"The cluster's id."`
}

// Run lists permissions.
func (cmd *listPermissionsCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	list, err := c.listOf(ctx, clusterPath(cluster)+"/permissions")
	if err != nil {
		return err
	}
	return root.Admin.show(p, list, "id", "principalDisplayName", "principalType", "role", "allowedDataSourceTypes")
}

type setPermissionCmd struct {
	Cluster   string   `arg:"" help:"The cluster's id."`
	Principal string   `arg:"" help:"The principal's id."`
	Role      string   `required:"" enum:"Admin,ConnectionCreator,ConnectionCreatorWithReshare" help:"Admin does everything; ConnectionCreator registers data sources; ConnectionCreatorWithReshare does the same."`
	Types     []string `placeholder:"TYPE" help:"Only these data source types, such as PostgreSql,Sql; all when left out."`
}

// Run gives the role.
func (cmd *setPermissionCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	body := map[string]any{"id": cmd.Principal, "role": cmd.Role}
	if len(cmd.Types) > 0 {
		body["allowedDataSourceTypes"] = cmd.Types
	}
	err = c.call(ctx, http.MethodPost, clusterPath(cluster)+"/permissions", body, nil)
	if err == nil {
		p.printf("the role holds from the next request on\n")
	}
	return err
}

type removePermissionCmd struct {
	Cluster   string `arg:"" help:"The cluster's id."`
	Principal string `arg:"" help:"The principal's id."`
}

// Run takes the role away.
func (cmd *removePermissionCmd) Run(ctx context.Context, p *process, root *cli) error {
	_, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	return root.Admin.remove(ctx, p, clusterPath(cluster)+"/permissions/"+url.PathEscape(cmd.Principal))
}

// sourceUsersCmd is who may use a data source.
type sourceUsersCmd struct {
	List   listUsersCmd  `cmd:"" help:"List who may use a data source."`
	Add    addUserCmd    `cmd:"" help:"Let a principal use a data source, or change its role."`
	Remove removeUserCmd `cmd:"" help:"Take a principal's role on a data source away."`
}

type listUsersCmd struct{ sourceArgs }

// Run lists users.
func (cmd *listUsersCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	list, err := c.listOf(ctx, cmd.path(cluster)+"/users")
	if err != nil {
		return err
	}
	return root.Admin.show(p, list, "identifier", "displayName", "emailAddress", "principalType", "role", "datasourceAccessRight")
}

type addUserCmd struct {
	sourceArgs
	Principal string `arg:"" help:"The principal's id or e-mail address."`
	Role      string `default:"" enum:",User,UserWithReshare,Owner" placeholder:"ROLE" help:"User and UserWithReshare query, Owner also changes the data source and its users. Left out, a role stays as it is, and who has none becomes a User."`
}

// Run adds the user.
func (cmd *addUserCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	right, err := cmd.right(ctx, c, cmd.path(cluster)+"/users")
	if err != nil {
		return err
	}
	body := map[string]any{"datasourceAccessRight": right}
	if cmd.Role != "" {
		body["role"] = cmd.Role
	}
	if _, isID := gateway.ParseID(cmd.Principal); isID {
		body["identifier"] = cmd.Principal
	} else {
		body["emailAddress"] = cmd.Principal
	}
	err = c.call(ctx, http.MethodPost, cmd.path(cluster)+"/users", body, nil)
	if err == nil {
		p.printf("the role holds from the next request on\n")
	}
	return err
}

// right is the principal's access right, which stays as it is; who has none reads.
func (cmd *addUserCmd) right(ctx context.Context, c *apiClient, users string) (string, error) {
	var list struct {
		Value []struct{ Identifier, EmailAddress, DatasourceAccessRight string }
	}
	who := cmd.Principal
	if id, isID := gateway.ParseID(who); isID {
		who = id.String()
	}
	err := c.call(ctx, http.MethodGet, users, nil, &list)
	for _, u := range list.Value {
		if u.Identifier == who || strings.EqualFold(u.EmailAddress, who) {
			return u.DatasourceAccessRight, err
		}
	}
	return "Read", err
}

type removeUserCmd struct {
	sourceArgs
	Principal string `arg:"" help:"The principal's id or e-mail address."`
}

// Run removes the user.
func (cmd *removeUserCmd) Run(ctx context.Context, p *process, root *cli) error {
	_, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	return root.Admin.remove(ctx, p, cmd.path(cluster)+"/users/"+url.PathEscape(cmd.Principal))
}

// recordsCmd lists the last requests of a cluster.
type recordsCmd struct {
	Cluster string `arg:"" help:"The cluster's id."`
	Top     int    `default:"50" help:"At most so many."`
}

// Run lists the records, newest first.
func (cmd *recordsCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	list, err := c.listOf(ctx, clusterPath(cluster)+"/dispatchRecords?"+url.Values{"$top": {plainText(cmd.Top)}}.Encode())
	if err != nil {
		return err
	}
	return root.Admin.show(p, list, "at", "outcome", "memberGatewayId", "datasourceId", "attempts", "durationMilliseconds", "rows", "requestId")
}
