package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"comporta/service/gateway"
)

// benchAPICmd measures management calls.
type benchAPICmd struct {
	load
	Clusters int    `default:"20" help:"How many clusters stand there while the calls are measured, 1 to 1000."`
	Server   string `placeholder:"URL" help:"Measure this service, with COMPORTA_CLIENT_ID and COMPORTA_CLIENT_SECRET; else one is started on a temporary SQLite database."`
	CAFile   string `name:"ca-file" placeholder:"FILE" help:"Trust the certificate authorities in this file (PEM) too."`
}

// Run measures one call after the other and prints a table.
func (c *benchAPICmd) Run(ctx context.Context, p *process) error {
	if c.Clusters < 1 || c.Clusters > 1000 {
		return usagef("--clusters must be between 1 and 1000")
	}
	if !p.given("server") { // never one that only the environment names: this writes
		r, err := newRig(ctx, p)
		if err != nil {
			return err
		}
		return errors.Join(c.run(ctx, p, r.client), r.close())
	}
	id, secret, err := p.clientCredentials()
	if err != nil {
		return err
	}
	h, err := httpClient(c.CAFile)
	if err != nil {
		return err
	}
	return c.run(ctx, p, newAPIClient(h, c.Server, id, secret))
}

// benchCall is one call to be measured; it is told the worker and a number that grows.
type benchCall struct {
	name string
	do   func(ctx context.Context, worker, n int) error
}

func (c *benchAPICmd) run(ctx context.Context, p *process, client *apiClient) error {
	clusters, err := c.prepare(ctx, client)
	if err != nil {
		return err
	}
	var lines [][]string
	for _, call := range calls(client, clusters) {
		counts := make([]int, c.Workers)
		f := c.measure(ctx, c.duration(), func(ctx context.Context, worker int) error {
			counts[worker]++
			return call.do(ctx, worker, counts[worker])
		})
		if f.err != nil {
			err = errors.Join(err, fmt.Errorf("%s: %d calls failed, one with: %w", call.name, f.failed, f.err))
		}
		lines = append(lines, []string{call.name, fmt.Sprintf("%.0f", f.perSecond()), milliseconds(f.quantile(.5)), milliseconds(f.quantile(.99))})
	}
	if ctx.Err() == nil {
		p.printf("%d at once, %g s each, %d clusters\n%s", c.Workers, c.Seconds, c.Clusters, table([]string{"call", "per second", "p50 ms", "p99 ms"}, lines))
	}
	return errors.Join(err, c.clean(context.WithoutCancel(ctx), client, clusters))
}

// prepare makes the clusters that the calls are about.
func (c *benchAPICmd) prepare(ctx context.Context, client *apiClient) ([]gateway.ID, error) {
	var made []gateway.ID
	for range c.Clusters {
		var answer struct {
			ID gateway.ID `json:"id"`
		}
		body := map[string]any{"name": "bench " + newID().String(), "recoveryKey": randomSecret()}
		if err := client.call(ctx, http.MethodPost, clustersPath, body, &answer); err != nil {
			return nil, errors.Join(err, c.clean(ctx, client, made))
		}
		made = append(made, answer.ID)
	}
	return made, nil
}

func (c *benchAPICmd) clean(ctx context.Context, client *apiClient, made []gateway.ID) error {
	var errs []error
	for _, id := range made {
		errs = append(errs, client.call(ctx, http.MethodDelete, clusterPath(id), nil, nil))
	}
	return errors.Join(errs...)
}

// calls are the reads first, then the writes. The workers share the clusters.
func calls(client *apiClient, clusters []gateway.ID) []benchCall {
	path := func(worker int) string { return clusterPath(clusters[worker%len(clusters)]) }
	read := func(name, method string, suffix string) benchCall {
		return benchCall{name, func(ctx context.Context, worker, _ int) error {
			return client.call(ctx, method, path(worker)+suffix, nil, nil)
		}}
	}
	return []benchCall{
		{"list clusters, expanded", func(ctx context.Context, _, _ int) error {
			return client.call(ctx, http.MethodGet, clustersPath+"?$expand=permissions,memberGateways", nil, nil)
		}},
		read("get a cluster", http.MethodGet, ""),
		read("status of a cluster", http.MethodGet, "/status"),
		read("list data sources", http.MethodGet, "/datasources"),
		read("route", http.MethodPost, "/route"),
		{"change a cluster (write)", func(ctx context.Context, worker, n int) error {
			return client.call(ctx, http.MethodPatch, path(worker), map[string]any{"description": fmt.Sprint("change ", n)}, nil)
		}},
		{"create a data source (write)", func(ctx context.Context, worker, _ int) error {
			return client.call(ctx, http.MethodPost, path(worker)+"/datasources", map[string]any{"datasourceName": newID(), "datasourceType": "Web",
				"connectionDetails": `{"url":"http://127.0.0.1"}`, "credentialDetails": map[string]any{"credentialType": "Anonymous"}}, nil)
		}},
		{"get a token", func(ctx context.Context, _, _ int) error {
			fresh := newAPIClient(client.http, client.server, client.id, client.secret)
			_, err := fresh.token(ctx)
			return err
		}},
	}
}
