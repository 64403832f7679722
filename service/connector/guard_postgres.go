package connector

import (
	"strings"

	"comporta/service/gateway"
)

// guardPostgres: the read-only transaction keeps data safe; the guard keeps out what ends that transaction or does things outside of
// it (COMMIT, SET, DO, COPY … TO PROGRAM, and functions that act at once). Whether a backslash escapes depends on a setting, so the text
// is read in both ways.
func guardPostgres(text string, readOnly bool) (verdict, error) {
	s, old := scan(text, postgresLexis), scan(text, postgresOld)
	switch {
	case s.statements == 0:
		return verdict{}, noStatement()
	case !readOnly && s.starts("COPY"):
		return verdict{}, gateway.Errorf(gateway.CodeInvalid, "COPY is not served; send INSERT or SELECT.")
	case !readOnly:
		return verdict{}, nil
	case !s.starts("SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN"):
		return verdict{prepareOnly: true}, nil
	case s.coded || old.coded:
		return verdict{}, writes("names written U&\"…\" are not allowed in it")
	}
	for _, reading := range []*script{&s, &old} {
		if name := actsAtOnce(reading); name != "" {
			return verdict{}, writes(name + " reaches beyond its transaction")
		}
		if name := runsText(reading); name != "" {
			return verdict{}, gateway.Errorf(gateway.CodeReadOnly, "The request is read-only and %s runs a text that cannot be judged here. Send it with \"readOnly\": false, also if it only reads.", name)
		}
	}
	return verdict{}, nil
}

// actsAtOnce returns a function of PostgreSQL's that is named and whose effect no rollback undoes, or which holds others up, "" when there is
// none. A parenthesis behind it tells nothing: (1).f is a call of f too. What is called behind a view, an operator or another function is
// not seen here.
func actsAtOnce(s *script) string { return mentioned(s, postgresActing, postgresFamilies) }

// runsText returns a function that is named and that runs a text, "" when there is none.
func runsText(s *script) string { return mentioned(s, postgresRunning, nil) }

// mentioned returns the first of the functions, or of the families of functions, that is named, "" when none is.
func mentioned(s *script, functions map[string]bool, families []string) string {
	for _, name := range s.quoted {
		if known := oneOf(name, functions, families); known != "" {
			return known
		}
	}
	for _, w := range s.words {
		known := oneOf(w.text, functions, families)
		if known == "" && w.glued {
			known = endsWithOneOf(w.text, functions, families)
		}
		if known != "" {
			return known
		}
	}
	return ""
}

// oneOf returns the function, or the family of functions, that a name is one of, "" when it is of none.
func oneOf(name string, functions map[string]bool, families []string) string {
	if functions[name] {
		return strings.ToLower(name)
	}
	for _, family := range families {
		if strings.HasPrefix(name, family) {
			return strings.ToLower(family) + "…"
		}
	}
	return ""
}

// endsWithOneOf returns what oneOf does for what hangs on a number.
func endsWithOneOf(text string, functions map[string]bool, families []string) string {
	for name := range functions {
		if strings.HasSuffix(text, name) {
			return strings.ToLower(name)
		}
	}
	for _, family := range families {
		if strings.Contains(text, family) {
			return strings.ToLower(family) + "…"
		}
	}
	return ""
}

// postgresFamilies are what the names of such functions begin with.
var postgresFamilies = []string{"PG_ADVISORY_", "PG_TRY_ADVISORY_", "PG_CREATE_", "PG_COPY_", "PG_STAT_RESET"}

// postgresActing end or signal other sessions, write outside of the transaction (the log, replication slots, indexes' pending lists, files,
// large objects up to PostgreSQL 15).
var postgresActing = setOf(`
	PG_TERMINATE_BACKEND PG_CANCEL_BACKEND PG_RELOAD_CONF PG_ROTATE_LOGFILE PG_ROTATE_LOGFILE_OLD PG_LOG_BACKEND_MEMORY_CONTEXTS PG_NOTIFY
	PG_LOGICAL_EMIT_MESSAGE PG_SWITCH_WAL PG_SWITCH_XLOG PG_PROMOTE PG_BACKUP_START PG_BACKUP_STOP PG_START_BACKUP PG_STOP_BACKUP
	PG_LOG_STANDBY_SNAPSHOT PG_WAL_REPLAY_PAUSE PG_WAL_REPLAY_RESUME PG_XLOG_REPLAY_PAUSE PG_XLOG_REPLAY_RESUME
	PG_DROP_REPLICATION_SLOT PG_REPLICATION_SLOT_ADVANCE PG_SYNC_REPLICATION_SLOTS PG_LOGICAL_SLOT_GET_CHANGES PG_LOGICAL_SLOT_GET_BINARY_CHANGES
	PG_REPLICATION_ORIGIN_CREATE PG_REPLICATION_ORIGIN_DROP PG_REPLICATION_ORIGIN_ADVANCE PG_REPLICATION_ORIGIN_SESSION_SETUP
	PG_REPLICATION_ORIGIN_SESSION_RESET PG_REPLICATION_ORIGIN_XACT_SETUP PG_REPLICATION_ORIGIN_XACT_RESET
	PG_NEXTOID PG_IMPORT_SYSTEM_COLLATIONS PG_STOP_MAKING_PINNED_OBJECTS PG_STAT_STATEMENTS_RESET
	BRIN_SUMMARIZE_NEW_VALUES BRIN_SUMMARIZE_RANGE BRIN_DESUMMARIZE_RANGE GIN_CLEAN_PENDING_LIST
	PG_FILE_WRITE PG_FILE_SYNC PG_FILE_RENAME PG_FILE_UNLINK
	LO_CREAT LO_CREATE LO_EXPORT LO_FROM_BYTEA LO_IMPORT LO_PUT LO_TRUNCATE LO_TRUNCATE64 LO_UNLINK LOWRITE`)

// postgresRunning run a text, here or on another server, that is only known when it runs.
var postgresRunning = setOf(`
	DBLINK DBLINK_CONNECT DBLINK_CONNECT_U DBLINK_EXEC DBLINK_OPEN DBLINK_SEND_QUERY
	QUERY_TO_XML QUERY_TO_XMLSCHEMA QUERY_TO_XML_AND_XMLSCHEMA TS_REWRITE TS_STAT`)
