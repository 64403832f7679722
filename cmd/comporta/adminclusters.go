package main

import (
	"context"
	"net/http"
	"net/url"

	"comporta/service/gateway"
)

// clustersCmd is upkeep of clusters.
type clustersCmd struct {
	List   listClustersCmd  `cmd:"" help:"List clusters."`
	Show   showClusterCmd   `cmd:"" help:"Show a cluster's members."`
	Set    setClusterCmd    `cmd:"" help:"Rename a cluster, choose its load balancing, set limits for its members."`
	Delete deleteClusterCmd `cmd:"" help:"Delete a cluster with its members, data sources and permissions."`
}

// clusterColumns and memberColumns are what tables show.
var (
	clusterColumns = []string{"id", "name", "status", "loadBalancingSelectorType", "memberGateways", "versionStatus"}
	memberColumns  = []string{"id", "name", "isPrimary", "state", "status", "draining", "runningRequests", "concurrentOperationLimit", "version", "lastSeenDateTime"}
)

type listClustersCmd struct {
	Mine bool `help:"Only those in which the caller has a role; else all of the organisation, which takes a TenantAdmin."`
}

// Run lists clusters.
func (cmd listClustersCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, err := root.Admin.client(p)
	if err != nil {
		return err
	}
	path := clustersPath
	if cmd.Mine {
		path = "/v2.0/myorg/me/gatewayClusters"
	}
	list, err := c.listOf(ctx, path+"?$expand=memberGateways")
	if err != nil {
		return err
	}
	return root.Admin.show(p, list, clusterColumns...)
}

type showClusterCmd struct {
	Cluster string `arg:"" help:"The cluster's id."`
}

// Run lists a cluster's members.
func (cmd showClusterCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	list, err := c.listOf(ctx, clusterPath(cluster)+"/memberGateways")
	if err != nil {
		return err
	}
	return root.Admin.show(p, list, memberColumns...)
}

type setClusterCmd struct {
	Cluster      string  `arg:"" help:"The cluster's id."`
	Name         *string `help:"Its new name."`
	Description  *string `help:"Its new description."`
	Balance      string  `enum:",Failover,Random,LeastLoaded" default:"" placeholder:"WORD" help:"Failover tries the primary first, Random spreads evenly, LeastLoaded prefers the machine that is least busy."`
	QueueTimeout *int    `placeholder:"SECONDS" help:"How long a request waits for a busy member before it is refused; 0 is not at all."`
	limitFlags
}

// Run changes the cluster and shows it.
func (cmd *setClusterCmd) Run(ctx context.Context, p *process, root *cli) error {
	body := map[string]any{}
	given(body, "name", cmd.Name)
	given(body, "description", cmd.Description)
	if cmd.Balance != "" {
		body["loadBalancingSelectorType"] = cmd.Balance
	}
	given(body, "queueTimeoutSeconds", cmd.QueueTimeout)
	cmd.into(body)
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	return root.Admin.change(ctx, p, c, clusterPath(cluster), body, clusterColumns...)
}

type deleteClusterCmd struct {
	Cluster string `arg:"" help:"The cluster's id."`
	Yes     bool   `help:"Yes, delete it; without this nothing is done."`
}

// Run deletes the cluster.
func (cmd *deleteClusterCmd) Run(ctx context.Context, p *process, root *cli) error {
	_, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	if !cmd.Yes {
		return usagef("this deletes the cluster with its members, data sources and permissions, for good; add --yes")
	}
	return root.Admin.remove(ctx, p, clusterPath(cluster))
}

// onCluster logs in and reads a cluster's id.
func (c *adminCmd) onCluster(p *process, text string) (*apiClient, gateway.ID, error) {
	id, ok := gateway.ParseID(text)
	if !ok {
		return nil, "", usagef("%q is not a cluster's id (a GUID); comporta admin clusters list shows them", text)
	}
	client, err := c.client(p)
	return client, id, err
}

// recoveryKeyCmd changes a cluster's recovery key.
type recoveryKeyCmd struct {
	Cluster            string `arg:"" help:"The cluster's id."`
	RecoveryKeyFile    string `placeholder:"FILE" help:"Read the current recovery key from this file; else it comes from COMPORTA_RECOVERY_KEY or a prompt."`
	NewRecoveryKeyFile string `placeholder:"FILE" help:"Read the new recovery key from this file; else it comes from COMPORTA_NEW_RECOVERY_KEY or a prompt."`
}

// Run changes the key. Members that are joined go on working.
func (cmd recoveryKeyCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	current, err := p.read(ctx, secret{what: "current recovery key", env: "COMPORTA_RECOVERY_KEY", file: cmd.RecoveryKeyFile, fileFlag: "recovery-key-file"})
	if err != nil {
		return err
	}
	next, err := p.read(ctx, secret{what: "new recovery key", env: "COMPORTA_NEW_RECOVERY_KEY", file: cmd.NewRecoveryKeyFile, fileFlag: "new-recovery-key-file", twice: true})
	if err != nil {
		return err
	}
	err = c.call(ctx, http.MethodPost, clusterPath(cluster)+"/recoveryKey", map[string]any{"currentRecoveryKey": current, "newRecoveryKey": next}, nil)
	if err == nil {
		p.printf("the recovery key was changed; joined members go on working\n")
	}
	return err
}

// policyCmd shows or sets the tenant's policy.
type policyCmd struct {
	Restricted *bool `negatable:"" help:"Only TenantAdmins and listed installers may create clusters and join members; --no-restricted opens it to all."`
}

// Run shows the policy, after setting it if that was asked for.
func (cmd policyCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, err := root.Admin.client(p)
	if err != nil {
		return err
	}
	method, body := http.MethodGet, any(nil)
	if cmd.Restricted != nil {
		word := map[bool]string{true: "Restricted", false: "Open"}[*cmd.Restricted]
		method, body = http.MethodPost, map[string]any{"resourceGatewayInstallPolicy": word}
	}
	now := map[string]any{}
	if err := c.call(ctx, method, "/v2.0/myorg/gatewayPolicy", body, &now); err != nil {
		return err
	}
	return root.Admin.show(p, []map[string]any{now}, "id", "resourceGatewayInstallPolicy", "personalGatewayInstallPolicy")
}

// auditCmd prints the audit log.
type auditCmd struct {
	Cluster string `placeholder:"ID" help:"Only changes of this cluster."`
	Action  string `placeholder:"WORD" help:"Only this action, such as cluster.update."`
	Since   string `placeholder:"TIME" help:"Only from this time on, such as 2026-01-31T00:00:00Z."`
}

// Run prints the log page by page, oldest first.
func (cmd auditCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, err := root.Admin.client(p)
	if err != nil {
		return err
	}
	q := url.Values{}
	for name, value := range map[string]string{"clusterId": cmd.Cluster, "action": cmd.Action, "since": cmd.Since} {
		if value != "" {
			q.Set(name, value)
		}
	}
	var all []map[string]any
	for {
		var page struct {
			Value []map[string]any `json:"value"`
			Token string           `json:"continuationToken"`
		}
		if err := c.call(ctx, http.MethodGet, "/v2.0/myorg/auditEvents?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		all = append(all, page.Value...)
		if page.Token == "" {
			return root.Admin.show(p, all, "at", "caller", "from", "action", "resourceId", "requestId")
		}
		q.Set("continuationToken", page.Token)
	}
}
