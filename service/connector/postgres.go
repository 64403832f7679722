package connector

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"comporta/service/gateway"
)

// resetTimeout bounds what is done with a connection between two requests.
const resetTimeout = 5 * time.Second

// postgres is a PostgreSQL database. It speaks the protocol at pgconn's level: rows arrive as the server's own text, which is exact, and
// go to the encoder without a copy.
type postgres struct {
	pool  *pgxpool.Pool
	where string
}

func openPostgres(d *gateway.TaskSource, creds gateway.Credentials) (source, error) {
	cfg, where, err := postgresConfig(d, creds)
	if err != nil {
		return nil, err
	}
	// A pool without a minimum of connections connects when it is asked to, so the context plays no part.
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, gateway.Wrap(gateway.CodeInternal, err, "The connection pool could not be made.")
	}
	return &postgres{pool: pool, where: where}, nil
}

func postgresConfig(d *gateway.TaskSource, creds gateway.Credentials) (*pgxpool.Config, string, error) {
	s, err := gateway.ParsePlace(d.Type, d.ConnectionDetails)
	if err != nil {
		return nil, "", err
	}
	who, err := loginOf(d, creds)
	if err != nil {
		return nil, "", err
	}
	mode, err := encryptionOf(d)
	if err != nil {
		return nil, "", err
	}
	// The text below is fixed; what a request names is set as fields, so that nothing in it can be read as an option, and nothing
	// comes from the environment or the home folder of the member.
	cfg, err := pgxpool.ParseConfig("host=localhost port=5432 user=x password=x dbname=x sslmode=disable passfile='' servicefile='' target_session_attrs=any")
	if err != nil {
		return nil, "", gateway.Errorf(gateway.CodeInternal, "The PostgreSQL driver could not be set up.")
	}
	c := &cfg.ConnConfig.Config
	c.Host, c.Port, c.Database, c.User, c.Password = s.Host, s.Port, s.Database, who.user, who.password
	c.ConnectTimeout = connectTimeout
	c.MaxProtocolMessageBodyLen = maxRow // a row is one message
	c.Fallbacks = nil
	c.TLSConfig = nil
	switch mode {
	case encryptAlways:
		c.TLSConfig = &tls.Config{ServerName: s.Host, MinVersion: tls.VersionTLS12}
	case encryptAny:
		c.TLSConfig = &tls.Config{InsecureSkipVerify: true} // wanted: see encryptAny
		c.Fallbacks = []*pgconn.FallbackConfig{{Host: s.Host, Port: s.Port}}
	}
	c.RuntimeParams = map[string]string{
		"application_name": "comporta", "client_encoding": "UTF8", "timezone": "UTC", "datestyle": "ISO, MDY",
		"intervalstyle": "postgres", "bytea_output": "hex", "extra_float_digits": "1",
	}
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &canceller{pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 2 * time.Second}}
	}
	cfg.MaxConns, cfg.MinConns, cfg.MaxConnIdleTime = maxConnections, 0, connectionIdle
	cfg.AfterRelease = func(conn *pgx.Conn) bool { return forget(conn.PgConn(), resetTimeout) }
	return cfg, s.Address(), nil
}

// canceller cancels a statement by a request of its own to the server. That request may be late, by whatever the network holds it up, and
// cancels what the connection does then: so a connection on whose account one was sent is not used again.
type canceller struct {
	pgconn.CancelRequestContextWatcherHandler
}

const cancelSent = "a cancel request was sent"

// HandleCancel implements ctxwatch.Handler.
func (c *canceller) HandleCancel(ctx context.Context) {
	c.Conn.CustomData()[cancelSent] = true
	c.CancelRequestContextWatcherHandler.HandleCancel(ctx)
}

// forget makes a used connection as good as new: settings, locks, temporary tables, cursors. It runs after the request has ended, off
// its path; a connection that cannot be cleaned within a time is closed.
func forget(conn *pgconn.PgConn, within time.Duration) bool {
	if cancelledOnce(conn) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	err := conn.Exec(ctx, "discard all").Close()
	// The cleaning may have run out of its own time, been cancelled for that, and come to a good end nevertheless.
	return err == nil && !cancelledOnce(conn)
}

func cancelledOnce(conn *pgconn.PgConn) bool { return conn.CustomData()[cancelSent] != nil }

func (p *postgres) close() { p.pool.Close() }

func (p *postgres) probe(ctx context.Context) error {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return p.failure(err)
	}
	defer conn.Release()
	return p.failure(conn.Conn().PgConn().Exec(ctx, "select 1").Close())
}

func (p *postgres) run(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
	values, err := parameters(task.Query, asText)
	if err != nil {
		return gateway.Summary{}, err
	}
	judged, err := guardPostgres(task.Query.Text, task.ReadOnly)
	if err != nil {
		return gateway.Summary{}, err
	}
	a, err := newAnswer(task, out)
	if err != nil {
		return gateway.Summary{}, err
	}
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return gateway.Summary{}, p.failure(err)
	}
	defer conn.Release()
	q := &postgresQuery{conn: conn.Conn().PgConn(), text: task.Query.Text, values: textParameters(values), readOnly: task.ReadOnly}
	if judged.prepareOnly {
		return gateway.Summary{}, p.failure(q.prepare(ctx))
	}
	err = q.run(ctx, a)
	return end(ctx, task, a, marked(p.failure(err), err))
}

// end completes an answer, or ends it with err.
func end(ctx context.Context, task *gateway.Task, a *answer, err error) (gateway.Summary, error) {
	if err == nil {
		summary, err := a.finish()
		return summary, mayStand(err) // what was written is committed
	}
	return a.fail(gateway.AsError(overtaken(ctx, task.ReadOnly, err))), err
}

// postgresQuery is one statement on one connection.
type postgresQuery struct {
	conn     *pgconn.PgConn
	text     string
	values   [][]byte
	readOnly bool
}

// prepare lets the server parse the statement and does not run it.
func (q *postgresQuery) prepare(ctx context.Context) error {
	if _, err := q.conn.Prepare(ctx, "", q.text, nil); err != nil {
		return err
	}
	return notReading()
}

// run runs the statement in a transaction of its own. Only a committed transaction gives nil; one that only reads is rolled back, because
// PostgreSQL lets some functions (large objects) write in it.
func (q *postgresQuery) run(ctx context.Context, a *answer) error {
	// The first query of a transaction fixes its mode: after select 1 nothing can make it read-write any more.
	begin := "begin read write"
	if q.readOnly {
		begin = "begin read only; select 1"
	}
	if err := q.conn.Exec(ctx, begin).Close(); err != nil {
		return fmt.Errorf("%w: %w", errDead, err)
	}
	if err := q.stream(ctx, a); err != nil {
		q.rollback()
		return err
	}
	if q.readOnly {
		q.rollback()
		return nil
	}
	return q.commit(ctx)
}

func (q *postgresQuery) commit(ctx context.Context) error {
	results, err := q.conn.Exec(ctx, "commit").ReadAll()
	if err != nil {
		return committed(err)
	}
	if len(results) == 1 && results[0].CommandTag.String() == "ROLLBACK" {
		return gateway.Errorf(gateway.CodeQuery, "The database rolled the transaction back instead of committing it.")
	}
	return nil
}

// rollback ends the transaction also when the request's context is over. A connection that does not take it is closed on release.
func (q *postgresQuery) rollback() {
	if q.conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), resetTimeout)
	defer cancel()
	_ = q.conn.Exec(ctx, "rollback").Close()
}

// stream runs the statement and hands its rows to a.
func (q *postgresQuery) stream(ctx context.Context, a *answer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows := q.conn.ExecParams(ctx, q.text, q.values, nil, nil, nil)
	sent := q.rows(rows, a)
	if sent != nil && (q.readOnly || !errors.Is(sent, errEnough)) {
		cancel() // the server is to stop, not to send the rest
	}
	tag, err := rows.Close()
	switch {
	case errors.Is(sent, errEnough) && (err == nil || q.readOnly && cancelled(err)):
		return nil
	case sent != nil && !errors.Is(sent, errEnough):
		return sent
	case err != nil:
		return err
	}
	if len(rows.FieldDescriptions()) == 0 {
		a.changed(tag.RowsAffected())
	}
	return nil
}

func (q *postgresQuery) rows(rows *pgconn.ResultReader, a *answer) error {
	var columns []postgresColumn
	var cells []cell
	var texts arena
	for rows.NextRow() {
		if columns == nil {
			columns = postgresColumns(rows.FieldDescriptions())
			cells = make([]cell, len(columns))
			a.columns(shapeOf(columns))
		}
		texts = texts[:0]
		for i, value := range rows.Values() {
			cells[i] = cell{}
			if value == nil {
				continue
			}
			var err error
			if cells[i], err = columns[i].read(&texts, value); err != nil {
				return err
			}
		}
		if err := a.row(cells); err != nil {
			return err
		}
	}
	if described := rows.FieldDescriptions(); columns == nil && len(described) > 0 {
		a.columns(shapeOf(postgresColumns(described)))
	}
	return nil
}

// cancelled reports whether err is the end of a query that we cancelled ourselves.
func cancelled(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "57014" || errors.Is(err, context.Canceled)
}

// textParameters writes parameters as PostgreSQL reads them; the server gives each the type that its place in the query asks for.
func textParameters(values []any) [][]byte {
	texts := make([][]byte, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case string:
			texts[i] = []byte(v)
		case bool:
			texts[i] = strconv.AppendBool(nil, v)
		case int64:
			texts[i] = strconv.AppendInt(nil, v, 10)
		}
	}
	return texts
}

// failure tells a server that cannot be reached from one that refuses the statement.
func (p *postgres) failure(err error) error {
	var known *gateway.Error
	var refused *pgconn.PgError
	var tooLong *pgproto3.ExceededMaxBodyLenErr
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &tooLong):
		return rowTooLarge()
	case !errors.As(err, &refused):
		return accessFailure(p.where, err)
	}
	e := gateway.Errorf(gateway.CodeQuery, "The database refused the query: %s", refused.Message)
	switch class := refused.Code; {
	case endsConnection(err, refused):
		e = gateway.Errorf(gateway.CodeDataSourceAccess, "The database at %s refused the connection: %s", p.where, refused.Message)
	case class == "25006", class == "25001":
		e = writes("the database says: " + refused.Message)
	}
	e.With(gateway.DetailUnderlyingCode, refused.Code).With(gateway.DetailUnderlyingMessage, refused.Message)
	if refused.Position > 0 {
		e.With(gateway.DetailPosition, strconv.Itoa(int(refused.Position)))
	}
	return e
}

// endsConnection tells a refused or ended connection from a refused statement. The code cannot: a wrong number of parameters is a
// "connection exception" too, and a function may raise any. The severity can, for only what is fatal ends the connection.
func endsConnection(err error, refused *pgconn.PgError) bool {
	var connecting *pgconn.ConnectError
	severity := refused.SeverityUnlocalized
	if severity == "" {
		severity = refused.Severity
	}
	return errors.As(err, &connecting) || severity != "ERROR"
}
