package main

import (
	"context"
	"net/http"
	"net/url"

	"comporta/service/gateway"
)

// membersCmd is upkeep of a cluster's members.
type membersCmd struct {
	List    showClusterCmd   `cmd:"" help:"List a cluster's members."`
	Set     setMemberCmd     `cmd:"" help:"Disable, enable, drain, rename or limit a member."`
	Promote promoteMemberCmd `cmd:"" help:"Make a member the primary, which Failover tries first."`
	Remove  removeMemberCmd  `cmd:"" help:"Take a member out of its cluster."`
}

// memberArgs name one member.
type memberArgs struct {
	Cluster string `arg:"" help:"The cluster's id."`
	Member  string `arg:"" help:"The member's id."`
}

func (a *memberArgs) path(cluster gateway.ID) string {
	return clusterPath(cluster) + "/memberGateways/" + url.PathEscape(a.Member)
}

// limitFlags are the limits of a cluster or a member; what is not given stays.
type limitFlags struct {
	CPU         *int `name:"cpu" placeholder:"PERCENT" help:"CPU use at which no further request is taken, 0 to 100; 0 is off."`
	Memory      *int `placeholder:"PERCENT" help:"Memory use at which no further request is taken, 0 to 100; 0 is off."`
	Window      *int `placeholder:"MINUTES" help:"Over how many minutes the use is averaged, 1 to 60."`
	Concurrency *int `placeholder:"N" help:"How many requests a member runs at once, 0 to 100000; 0 is off."`
	ResetLimits bool `help:"Take the limits set here away first."`
}

func (f *limitFlags) into(body map[string]any) {
	given(body, "cpuUtilizationPercentageThreshold", f.CPU)
	given(body, "memoryUtilizationPercentageThreshold", f.Memory)
	given(body, "resourceUtilizationAggregationTimeInMinutes", f.Window)
	given(body, "concurrentOperationLimit", f.Concurrency)
	if f.ResetLimits {
		body["resetLimits"] = true
	}
}

// given puts a flag's value into a body if the flag was given.
func given[T any](body map[string]any, name string, value *T) {
	if value != nil {
		body[name] = *value
	}
}

type setMemberCmd struct {
	memberArgs
	Enabled     *bool   `negatable:"" help:"Send it requests; --no-enabled sends it none, running ones finish."`
	Draining    *bool   `negatable:"" help:"Send it none until --no-draining, as before an upgrade; runningRequests counts down."`
	Name        *string `help:"Its new name."`
	Description *string `help:"Its new description."`
	limitFlags
}

// Run changes the member and shows it.
func (cmd *setMemberCmd) Run(ctx context.Context, p *process, root *cli) error {
	body := map[string]any{}
	given(body, "enabled", cmd.Enabled)
	given(body, "draining", cmd.Draining)
	given(body, "name", cmd.Name)
	given(body, "description", cmd.Description)
	cmd.into(body)
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	return root.Admin.change(ctx, p, c, cmd.path(cluster), body, memberColumns...)
}

// change sends a change and shows the object as it is then.
func (c *adminCmd) change(ctx context.Context, p *process, client *apiClient, path string, body map[string]any, columns ...string) error {
	if len(body) == 0 {
		return usagef("say what to change; see --help")
	}
	now := map[string]any{}
	if err := client.call(ctx, http.MethodPatch, path, body, &now); err != nil {
		return err
	}
	return c.showOne(p, now, columns...)
}

type promoteMemberCmd struct{ memberArgs }

// Run promotes the member.
func (cmd *promoteMemberCmd) Run(ctx context.Context, p *process, root *cli) error {
	c, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	err = c.call(ctx, http.MethodPost, cmd.path(cluster)+"/promote", nil, nil)
	if err == nil {
		p.printf("it is the primary now\n")
	}
	return err
}

type removeMemberCmd struct{ memberArgs }

// Run removes the member.
func (cmd *removeMemberCmd) Run(ctx context.Context, p *process, root *cli) error {
	_, cluster, err := root.Admin.onCluster(p, cmd.Cluster)
	if err != nil {
		return err
	}
	return root.Admin.remove(ctx, p, cmd.path(cluster))
}
