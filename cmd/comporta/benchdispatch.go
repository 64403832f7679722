package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	"comporta/service/credential"
	"comporta/service/gateway"
)

// benchRounds is how often the ways are measured in turn, so that a busy moment of the machine hits all of them.
const benchRounds = 3

// benchDispatchCmd measures dispatch.
type benchDispatchCmd struct {
	load
	Members int `default:"1" help:"How many members serve, 1 to 10."`
}

// way is one way for a request to the backend.
type way struct {
	name string
	// get asks for a path of the backend.
	get          func(ctx context.Context, path string) (*http.Response, error)
	small, large figures
}

// Run measures and prints two tables.
func (c *benchDispatchCmd) Run(ctx context.Context, p *process) error {
	if c.Members < 1 || c.Members > gateway.MaxMembers {
		return usagef("--members must be between 1 and %d", gateway.MaxMembers)
	}
	r, err := newRig(ctx, p)
	if err != nil {
		return err
	}
	ways, err := c.ways(ctx, r)
	if err == nil {
		err = c.compare(ctx, p, ways)
	}
	return errors.Join(err, r.close())
}

// ways starts everything that the three ways need.
func (c *benchDispatchCmd) ways(ctx context.Context, r *rig) ([]*way, error) {
	backend, err := r.start(ctx, nil, "listening on ", "bench", "backend")
	if err != nil {
		return nil, err
	}
	proxy, err := r.start(ctx, nil, "listening on ", "bench", "proxy", backend)
	if err != nil {
		return nil, err
	}
	cluster, err := r.cast(ctx, c.Members)
	if err != nil {
		return nil, err
	}
	source, err := r.client.addDataSource(ctx, cluster, &newSource{Name: "backend", Type: gateway.TypeWeb, Details: map[string]string{"url": backend},
		CredentialType: "Anonymous", Pairs: credential.Anonymous(), Encryption: "NotEncrypted"})
	if err != nil {
		return nil, err
	}
	r.client.http.Timeout = 0
	dispatch := func(ctx context.Context, path string) (*http.Response, error) {
		req, err := r.client.request(ctx, http.MethodPost, clusterPath(cluster)+"/dispatch", map[string]any{"datasourceId": source, "http": map[string]any{"method": "GET", "path": path}})
		if err != nil {
			return nil, err
		}
		return r.client.send(req)
	}
	return []*way{{name: "straight to the backend", get: r.plainly(backend)}, {name: "plain reverse proxy", get: r.plainly(proxy)},
		{name: "dispatch", get: dispatch}}, nil
}

// plainly asks an address without any gateway.
func (r *rig) plainly(address string) func(context.Context, string) (*http.Response, error) {
	return func(ctx context.Context, path string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, nil)
		if err != nil {
			return nil, err
		}
		return r.client.send(req)
	}
}

// cast joins and runs members that have no concurrency limit.
func (r *rig) cast(ctx context.Context, n int) (gateway.ID, error) {
	env := []string{"COMPORTA_CLIENT_ID=" + r.client.id, "COMPORTA_CLIENT_SECRET=" + r.client.secret, "COMPORTA_RECOVERY_KEY=" + randomSecret()}
	var cluster gateway.ID
	for i := range n {
		state := filepath.Join(r.dir, fmt.Sprintf("member-%d", i))
		target := []string{"--new-cluster", "bench"}
		if cluster != "" {
			target = []string{"--cluster", cluster.String()}
		}
		id, err := r.start(ctx, env, "  cluster id  ", append([]string{"member", "join", "--server", r.client.server, "--state", state, "--name", fmt.Sprint("member ", i)}, target...)...)
		if err != nil {
			return "", err
		}
		cluster = gateway.ID(id)
		if _, err := r.start(ctx, nil, "online", "member", "run", "--state", state, "--log-level", "warn", "--drain-timeout", "1s"); err != nil {
			return "", err
		}
	}
	settings := map[string]any{"concurrentOperationLimit": 0, "loadBalancingSelectorType": "Random"}
	if err := r.client.call(ctx, http.MethodPatch, clusterPath(cluster), settings, nil); err != nil {
		return "", err
	}
	return cluster, r.client.waitLive(ctx, cluster, n)
}

// compare measures the ways in turn and prints what it found.
func (c *benchDispatchCmd) compare(ctx context.Context, p *process, ways []*way) error {
	one := load{Workers: 1}
	for range benchRounds {
		for _, w := range ways {
			w.small.add(c.measure(ctx, c.duration()/benchRounds, func(ctx context.Context, _ int) error { return w.fetch(ctx, "/small", smallBody) }))
			w.large.add(one.measure(ctx, c.duration()/benchRounds, func(ctx context.Context, _ int) error { return w.fetch(ctx, "/large", largeBody) }))
		}
	}
	for _, w := range ways {
		if err := errors.Join(w.small.err, w.large.err); err != nil {
			return fmt.Errorf("%s: %d requests failed, one with: %w", w.name, w.small.failed+w.large.failed, err)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.printf("1 KiB answers, %d at once, %d member(s), %d x %.1f s each\n%s\n", c.Workers, c.Members, benchRounds, c.Seconds/benchRounds, smallTable(ways))
	p.printf("64 MiB answers, one at a time\n%s", largeTable(ways))
	return nil
}

// fetch takes a whole answer in and checks its size.
func (w *way) fetch(ctx context.Context, path string, size int64) error {
	resp, err := w.get(ctx, path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && n != size {
		err = fmt.Errorf("an answer has %d bytes instead of %d", n, size)
	}
	return err
}

func smallTable(ways []*way) string {
	var lines [][]string
	for _, w := range ways {
		f := &w.small
		lines = append(lines, []string{w.name, fmt.Sprintf("%.0f", f.perSecond()), milliseconds(f.quantile(.5)), milliseconds(f.quantile(.99)),
			milliseconds(f.quantile(.999)), ratio(f.perSecond(), ways[1].small.perSecond())})
	}
	return table([]string{"way", "requests/s", "p50 ms", "p99 ms", "p99.9 ms", "x plain proxy"}, lines)
}

func largeTable(ways []*way) string {
	speed := func(w *way) float64 { return w.large.perSecond() * largeBody / 1e6 }
	var lines [][]string
	for _, w := range ways {
		lines = append(lines, []string{w.name, fmt.Sprintf("%.0f", speed(w)), ratio(speed(w), speed(ways[1]))})
	}
	return table([]string{"way", "MB/s", "x plain proxy"}, lines)
}

func ratio(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}
