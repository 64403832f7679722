package connector

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"comporta/service/gateway"
)

// Bounds of what a data source may take.
const (
	// connectTimeout bounds one attempt to connect and log in.
	connectTimeout = 10 * time.Second
	// probeTimeout bounds a whole probe.
	probeTimeout = 15 * time.Second
	// maxConnections bounds each pool. How many requests run at once is decided by admission, not here.
	maxConnections = 64
	// connectionIdle is how long an unused connection stays open.
	connectionIdle = 2 * time.Minute
)

// Config is what Connectors need to know of their member.
type Config struct {
	// AllowFolders are the folders under which files (SQLite databases) may lie. None: no file is allowed.
	AllowFolders []string
	// Log takes what an operator should know; nil discards it.
	Log *slog.Logger
	// Now is the clock, needed.
	Now func() time.Time
	// MaxPools is how many pools stay open while nobody uses them; 0 means 64.
	MaxPools int
	// PoolIdle is how long a pool that nobody uses stays open; 0 means ten minutes.
	PoolIdle time.Duration
}

// Connectors runs tasks on data sources. All its methods may be called from many goroutines at once.
type Connectors struct {
	log     *slog.Logger
	folders []string
	pools   *pools
}

// source is one data source, opened with one version of its credentials.
type source interface {
	// run runs a task that is not a probe. ctx ends with the task's time or its caller.
	run(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error)
	// probe connects and logs in.
	probe(ctx context.Context) error
	// close lets go of all connections. Nobody is using the source then.
	close()
}

// New makes Connectors. It opens nothing.
func New(cfg Config) *Connectors {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Connectors{log: log, folders: cfg.AllowFolders, pools: newPools(cfg)}
}

// Close closes every pool: idle ones now, the others when their last request ends. It is harmless when repeated.
func (c *Connectors) Close() error {
	c.pools.close()
	return nil
}

// Run runs a task and writes its answer to out. An error before out.Begin is the whole answer; after it the answer ends visibly broken.
//
// Errors are *gateway.Error: CodeInvalid (the task or the connection details are malformed), CodeUnsupportedDataSource,
// CodeNotAllowedHere (a file or address outside what is allowed), CodeReadOnly, CodeDataSourceAccess (it does not answer, or refuses
// to log in), CodeQuery (it refused the statement; the details carry its own words), CodeTimeout (ctx or the task's time ended),
// CodeBroken (the caller went away) and CodeOutcomeUnknown (one of these two, when what the task writes may have been done).
func (c *Connectors) Run(ctx context.Context, task *gateway.Task, creds gateway.Credentials, out gateway.Output) (gateway.Summary, error) {
	if t := task.Timeout(); t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t)
		defer cancel()
	}
	summary, err := c.run(ctx, task, creds, out)
	if err != nil {
		failure := c.failure(ctx, task, creds, err)
		mayRepeat(failure, task.ReadOnly)
		return summary, failure
	}
	return summary, nil
}

// mayRepeat says whether another member may be asked, and tells the caller of a write that may have run to look before he asks again.
func mayRepeat(failure *gateway.Error, readOnly bool) {
	if failure.Code != gateway.CodeDataSourceAccess {
		return
	}
	failure.Elsewhere = readOnly && failure.Cause != nil || neverReached(failure.Cause)
	if !readOnly && errors.Is(failure.Cause, errAsked) {
		failure.Message += " That was after the request had been sent to it: it ran once or not at all; look before you repeat it."
	}
}

func (c *Connectors) run(ctx context.Context, task *gateway.Task, creds gateway.Credentials, out gateway.Output) (gateway.Summary, error) {
	if err := checkTask(task); err != nil {
		return gateway.Summary{}, err
	}
	src, release, err := c.pools.acquire(keyOf(task, creds), func() (source, error) { return c.open(task, creds) })
	if err != nil {
		return gateway.Summary{}, err
	}
	defer release()
	return src.run(ctx, task, out)
}

// Probe connects to the task's data source with these credentials, logs in and asks something harmless. It uses no pool, so it tells
// how things are now. It takes 15 seconds at most. Errors are those of Run.
func (c *Connectors) Probe(ctx context.Context, task *gateway.Task, creds gateway.Credentials) error {
	bounded, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	src, err := c.open(task, creds)
	if err == nil {
		defer src.close()
		err = src.probe(bounded)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() == nil && bounded.Err() != nil {
		return withUnderlying(gateway.Errorf(gateway.CodeDataSourceAccess, "The data source did not answer within %d seconds.", probeTimeout/time.Second))
	}
	return c.failure(ctx, task, creds, err)
}

// open makes the source of a task. It reads and resolves, but does not connect.
func (c *Connectors) open(task *gateway.Task, creds gateway.Credentials) (source, error) {
	d := &task.DataSource
	switch d.Type {
	case gateway.TypePostgreSQL:
		return openPostgres(d, creds)
	case gateway.TypeMySQL:
		return openMySQL(d, creds)
	case gateway.TypeSQLServer:
		return openSQLServer(d, creds)
	case gateway.TypeExtension:
		return openSQLite(d, task.ReadOnly, c.folders)
	case gateway.TypeWeb, gateway.TypeOData:
		return openWeb(d, creds)
	case gateway.TypeFile, gateway.TypeFolder:
		return openFiles(d, c.folders)
	}
	return nil, gateway.Errorf(gateway.CodeUnsupportedDataSource, "This member does not serve data sources of type %q.", string(d.Type))
}

// checkTask refuses a task whose content does not fit the kind of its data source.
func checkTask(task *gateway.Task) error {
	web := task.DataSource.Type == gateway.TypeWeb || task.DataSource.Type == gateway.TypeOData
	file := task.DataSource.Type == gateway.TypeFile || task.DataSource.Type == gateway.TypeFolder
	switch {
	case web && (task.HTTP == nil || task.Query != nil):
		return gateway.Errorf(gateway.CodeInvalid, "A data source of type %s takes \"http\", not \"query\".", task.DataSource.Type)
	case !web && (task.Query == nil || task.HTTP != nil):
		return gateway.Errorf(gateway.CodeInvalid, "A data source of type %s takes \"query\", not \"http\".", task.DataSource.Type)
	case !web && !file && strings.TrimSpace(task.Query.Text) == "":
		return gateway.Errorf(gateway.CodeInvalid, "The query text is empty.")
	case !web && strings.ContainsRune(task.Query.Text, 0):
		return gateway.Errorf(gateway.CodeInvalid, "The query text holds a NUL character, which no database takes.")
	case !web && task.Query.MaxRows < 0:
		return gateway.Errorf(gateway.CodeInvalid, "maxRows is %d; it must be 0 or more.", task.Query.MaxRows)
	}
	return nil
}

// failure turns err into what Run promises: the end of ctx wins over what it broke, and no secret is left in any text.
func (c *Connectors) failure(ctx context.Context, task *gateway.Task, creds gateway.Credentials, err error) *gateway.Error {
	e := withUnderlying(gateway.AsError(overtaken(ctx, task.ReadOnly, err)))
	hideSecrets(e, creds)
	c.log.Debug("data source request failed", "request", task.RequestID, "dataSource", task.DataSource.ID.String(), "code", string(e.Code), "error", e)
	return e
}

// withUnderlying sees to it that a data source's failure carries a message among its details, where clients of status calls look for it.
func withUnderlying(e *gateway.Error) *gateway.Error {
	has := slices.ContainsFunc(e.Details, func(d gateway.Detail) bool { return d.Code == gateway.DetailUnderlyingMessage })
	if has || e.Code != gateway.CodeDataSourceAccess && e.Code != gateway.CodeQuery {
		return e
	}
	return e.With(gateway.DetailUnderlyingMessage, e.Message)
}
