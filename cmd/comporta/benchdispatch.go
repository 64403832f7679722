package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"comporta/service/credential"
	"comporta/service/gateway"
)

// benchRounds is how often the ways are measured in turn, so that a busy moment of the machine hits all of them.
const benchRounds = 10

// benchDispatchCmd measures dispatch.
type benchDispatchCmd struct {
	load
	Members int `default:"1" help:"How many members serve, 1 to 10."`
	// Only is for looking into one thing closely. So is COMPORTA_PROFILE=DIR, which every process of the measurement gets.
	Only string `hidden:"" enum:"small,large,both" default:"both" help:"Which answers to measure."`
}

// way is one way for a request to the backend.
type way struct {
	name string
	// request makes the request for a path of the backend. It is sent many times: making it is not what is measured.
	request func(ctx context.Context, path string) (*http.Request, error)
	// between are the processes between client and backend.
	between []*exec.Cmd
	// onlySmall: there is no large answer this way.
	onlySmall    bool
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
		err = c.compare(ctx, p, r, ways)
	}
	return errors.Join(err, r.close())
}

// ways starts everything that the ways need.
func (c *benchDispatchCmd) ways(ctx context.Context, r *rig) ([]*way, error) {
	between := r.list // the service
	backend, err := r.start(ctx, nil, "listening on ", "bench", "backend")
	if err != nil {
		return nil, err
	}
	proxy, err := r.start(ctx, nil, "listening on ", "bench", "proxy", backend)
	if err != nil {
		return nil, err
	}
	// A second one before the first has as many hops as a dispatch: service and member.
	second, err := r.start(ctx, nil, "listening on ", "bench", "proxy", proxy)
	if err != nil {
		return nil, err
	}
	started := len(r.list)
	cluster, err := r.cast(ctx, c.Members)
	if err != nil {
		return nil, err
	}
	source, err := r.addOpenSource(ctx, cluster, gateway.TypeWeb, "url", backend)
	if err != nil {
		return nil, err
	}
	file, err := r.addOpenSource(ctx, cluster, gateway.TypeFile, "path", r.file())
	if err != nil {
		return nil, err
	}
	// All ways have the same client, with a connection for every worker.
	r.client.http.Timeout = 0
	r.client.http.Transport.(*http.Transport).MaxIdleConnsPerHost = c.Workers
	return []*way{{name: "straight to the backend", request: plainly(backend)},
		{name: "plain reverse proxy", request: plainly(proxy), between: r.list[started-2 : started-1]},
		{name: "two of them in a row", request: plainly(second), between: r.list[started-2 : started]},
		{name: "dispatch", request: r.dispatch(cluster, func(path string) string {
			return fmt.Sprintf(`{"datasourceId":%q,"http":{"method":"GET","path":%q}}`, source, path)
		}), between: append(between[:1:1], r.list[started:]...)},
		// As many processes take part as with a plain proxy: the member is proxy and backend in one.
		{name: "dispatch to a file", request: r.dispatch(cluster, func(string) string {
			return fmt.Sprintf(`{"datasourceId":%q,"query":{"text":""}}`, file)
		}), between: append(between[:1:1], r.list[started:]...), onlySmall: true}}, nil
}

func (r *rig) addOpenSource(ctx context.Context, cluster gateway.ID, kind gateway.DataSourceType, key, place string) (gateway.ID, error) {
	return r.client.addDataSource(ctx, cluster, &newSource{Name: string(kind), Type: kind, Details: map[string]string{key: place},
		CredentialType: "Anonymous", Pairs: credential.Anonymous(), Encryption: "NotEncrypted"})
}

// files is the folder that the members may serve; file is a table in it that is read as smallBody bytes of CSV.
func (r *rig) files() string { return filepath.Join(r.dir, "files") }
func (r *rig) file() string  { return filepath.Join(r.files(), "small.csv") }

func (r *rig) writeFile() error {
	const head, row = "n,text\r\n", "%d,%s\r\n"
	text := head
	for n := 10; len(text) < smallBody; n++ {
		text += fmt.Sprintf(row, n, strings.Repeat("x", min(59, smallBody-len(text)-5)))
	}
	if err := os.MkdirAll(r.files(), 0o700); err != nil {
		return err
	}
	return os.WriteFile(r.file(), []byte(text), 0o600)
}

// dispatch asks through the gateway.
func (r *rig) dispatch(cluster gateway.ID, body func(path string) string) func(context.Context, string) (*http.Request, error) {
	return func(ctx context.Context, path string) (*http.Request, error) {
		req, err := r.client.request(ctx, http.MethodPost, clusterPath(cluster)+"/dispatch", json.RawMessage(body(path)))
		if err == nil {
			req.Header.Set("Accept", "text/csv")
		}
		return req, err
	}
}

// plainly asks an address without any gateway.
func plainly(address string) func(context.Context, string) (*http.Request, error) {
	return func(ctx context.Context, path string) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, address+path, nil)
	}
}

// cast joins and runs members that have no concurrency limit.
func (r *rig) cast(ctx context.Context, n int) (gateway.ID, error) {
	env := []string{"COMPORTA_CLIENT_ID=" + r.client.id, "COMPORTA_CLIENT_SECRET=" + r.client.secret, "COMPORTA_RECOVERY_KEY=" + randomSecret()}
	if err := r.writeFile(); err != nil {
		return "", err
	}
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
		if _, err := r.start(ctx, nil, "online", "member", "run", "--state", state, "--log-level", "warn", "--drain-timeout", "1s",
			"--allow-folder", r.files()); err != nil {
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
func (c *benchDispatchCmd) compare(ctx context.Context, p *process, r *rig, ways []*way) error {
	for range benchRounds {
		for _, w := range ways {
			if c.Only != "large" {
				w.small.add(c.round(ctx, r, w, c.Workers, "/small", smallBody))
			}
			if c.Only != "small" && !w.onlySmall {
				w.large.add(c.round(ctx, r, w, 1, "/large", largeBody))
			}
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
	if c.Only != "large" {
		p.printf("1 KiB answers, %d at once, %d member(s), %d x %.1f s each\n%s\n", c.Workers, c.Members, benchRounds, c.Seconds/benchRounds, smallTable(ways))
	}
	if c.Only != "small" {
		p.printf("64 MiB answers, one at a time\n%s\n", largeTable(ways))
	}
	p.printf("CPU is that of the processes between client and backend: the proxies, or service and members. Two proxies have as many hops as a dispatch;\na dispatch to a file has as many as one proxy.\n")
	return nil
}

// round measures one way once.
func (c *benchDispatchCmd) round(ctx context.Context, r *rig, w *way, workers int, path string, size int64) figures {
	model, err := w.request(ctx, path)
	if err != nil {
		return figures{failed: 1, err: err}
	}
	l, before := load{Workers: workers}, cpuTime(w.between)
	f := l.measure(ctx, c.duration()/benchRounds, func(ctx context.Context, _ int) error { return r.fetch(ctx, model, size) })
	f.cpu = cpuTime(w.between) - before
	return f
}

// fetch sends a request like the model, takes the whole answer in and checks its size.
func (r *rig) fetch(ctx context.Context, model *http.Request, size int64) (err error) {
	req := model.WithContext(ctx)
	if model.GetBody != nil {
		if req.Body, err = model.GetBody(); err != nil {
			return err
		}
	}
	resp, err := r.client.send(req)
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
	plain := &ways[1].small
	var lines [][]string
	for _, w := range ways {
		f := &w.small
		lines = append(lines, []string{w.name, fmt.Sprintf("%.0f", f.perSecond()), milliseconds(f.quantile(.5)), milliseconds(f.quantile(.99)),
			milliseconds(f.quantile(.999)), ratio(f.perSecond(), plain.perSecond()), fmt.Sprintf("%.0f", f.cpuEach()*1e6), ratio(f.cpuEach(), plain.cpuEach())})
	}
	return table([]string{"way", "requests/s", "p50 ms", "p99 ms", "p99.9 ms", "x plain proxy", "CPU us/request", "x plain proxy"}, lines)
}

func largeTable(ways []*way) string {
	plain := &ways[1].large
	var lines [][]string
	for _, w := range ways {
		if w.onlySmall {
			continue
		}
		f := &w.large
		lines = append(lines, []string{w.name, fmt.Sprintf("%.0f", f.perSecond()*largeBody/1e6), ratio(f.perSecond(), plain.perSecond()),
			fmt.Sprintf("%.1f", f.cpuEach()*1e3), ratio(f.cpuEach(), plain.cpuEach())})
	}
	return table([]string{"way", "MB/s", "x plain proxy", "CPU ms/answer", "x plain proxy"}, lines)
}

func ratio(a, b float64) string {
	if !(a > 0 && b > 0) {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}
