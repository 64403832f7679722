package connector

import "comporta/service/gateway"

// verdict is what the guard says of a statement that may go to the database.
type verdict struct {
	// prepareOnly: it certainly is no reading statement, yet perhaps a misspelt one. The database is asked to parse it, for its own words
	// about the mistake, and not to run it.
	prepareOnly bool
	// discard: it may leave something behind in the session, so the connection is closed after it.
	discard bool
	// unchanging: it changes no rows, and the session's count of them is that of another statement.
	unchanging bool
	// commits: it may commit by itself what it writes, or a part of it, or write where no transaction is. Only of others is it certain that a
	// rollback takes everything back.
	commits bool
}

// The dialects, as their strings and comments are written.
var (
	postgresLexis  = lexis{nested: true, returns: true, escapeStrings: true, dollars: true, coded: true, high: true}
	postgresOld    = lexis{nested: true, returns: true, escapeStrings: true, dollars: true, coded: true, high: true, backslashSingle: true} // with standard_conforming_strings off
	mysqlLexis     = lexis{backslash: true, code: true, hash: true, dashSpace: true, backticks: true, high: true}
	mysqlPlain     = lexis{code: true, hash: true, dashSpace: true, backticks: true, high: true}                        // with sql_mode NO_BACKSLASH_ESCAPES
	mysqlANSI      = lexis{backslashSingle: true, code: true, hash: true, dashSpace: true, backticks: true, high: true} // with sql_mode ANSI_QUOTES
	sqliteLexis    = lexis{backticks: true, brackets: true, marks: true, openComments: true, high: true}
	sqlServerLexis = lexis{brackets: true, nested: true, newlines: true, signs: true}
)

func writes(what string) *gateway.Error {
	return gateway.Errorf(gateway.CodeReadOnly, "The request is read-only and %s. Send it with \"readOnly\": false if it is meant to write.", what)
}

// notReading is the answer for a statement that the database could parse but that does not only read.
func notReading() *gateway.Error { return writes("its statement does more than read") }

// noStatement is the answer for a text of nothing but spaces, comments and semicolons. What drivers and databases make of one differs, up to
// the end of the whole process (go-sqlite3 binds parameters to a statement that SQLite did not make).
func noStatement() error { return gateway.Errorf(gateway.CodeInvalid, "The query has no statement.") }

// guardMySQL: whether and where a backslash escapes depends on a session setting, so the text is read in every way and must be harmless
// in all. A text does not show the engine of a table, and what MyISAM, Aria, MEMORY and CSV wrote stands. So no write is certainly taken back.
func guardMySQL(text string, readOnly bool) (verdict, error) {
	v := verdict{commits: !readOnly}
	for _, l := range []lexis{mysqlLexis, mysqlPlain, mysqlANSI} {
		s := scan(text, l)
		if s.statements == 0 {
			return verdict{}, noStatement()
		}
		if tellsOfOthers(&s) {
			return verdict{}, gateway.Errorf(gateway.CodeInvalid, "Warnings and diagnostics are not served: they would be those of another request.")
		}
		v.discard = v.discard || s.variables || s.hints || callsUnknown(&s)
		if !readOnly {
			v.discard = v.discard || !s.starts("SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "REPLACE")
			continue
		}
		reads := s.starts("SELECT", "WITH", "SHOW", "EXPLAIN", "DESCRIBE", "DESC", "VALUES", "TABLE")
		if reads && (s.hints || s.doubtful || !s.garbled && s.has("INTO") && !explainsInsert(&s)) {
			return verdict{}, writes("INTO and executable comments are not allowed in it")
		}
		if reads && !s.garbled && locks(&s) {
			return verdict{}, writes("FOR UPDATE, FOR SHARE and LOCK IN SHARE MODE are not allowed in it")
		}
		v.prepareOnly = v.prepareOnly || !reads
	}
	return v, nil
}

// mysqlLocks keep writers out, also in a read-only transaction, for as long as the request runs; a slow reader makes that long.
var mysqlLocks = [][]string{{"FOR", "UPDATE"}, {"FOR", "SHARE"}, {"LOCK", "IN", "SHARE"}}

// locks reports whether one of them occurs. Behind a point, unless that belongs to a number, the first word is a column's name.
func locks(s *script) bool {
	return s.phrases(mysqlLocks, func(found []word) bool { return found[0].before != "." || found[0].glued })
}

// explainsInsert recognises EXPLAIN INSERT INTO t …, which only plans, as long as its one INTO is the insert's own.
func explainsInsert(s *script) bool {
	if s.word(1) != "INSERT" && s.word(1) != "REPLACE" || s.word(2) != "INTO" {
		return false
	}
	rest := script{words: s.words[3:]}
	return s.starts("EXPLAIN", "DESCRIBE", "DESC") && !rest.has("INTO")
}

// guardSQLite: the file is opened for reading, the driver says whether a statement is read-only, and an authoriser refuses ATTACH and
// dangerous PRAGMAs. The guard adds one statement per request and the words that SQLite calls read-only although they are not.
func guardSQLite(text string, readOnly bool) (verdict, error) {
	s := scan(text, sqliteLexis)
	switch {
	case s.statements == 0:
		return verdict{}, noStatement()
	case s.statements > 1:
		return verdict{}, gateway.Errorf(gateway.CodeInvalid, "The query has more than one statement.")
	}
	unchanging := !s.starts("INSERT", "UPDATE", "DELETE", "REPLACE", "WITH")
	if readOnly {
		return verdict{prepareOnly: !s.starts("SELECT", "WITH", "VALUES", "EXPLAIN", "PRAGMA"), discard: s.starts("PRAGMA"), unchanging: unchanging}, nil
	}
	if s.starts("BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "ATTACH", "DETACH", "VACUUM") {
		return verdict{}, gateway.Errorf(gateway.CodeInvalid, "%s is not served: every request is one transaction of its own.", s.word(0))
	}
	return verdict{discard: !s.starts("SELECT", "WITH", "VALUES", "INSERT", "UPDATE", "DELETE", "REPLACE"), unchanging: unchanging}, nil
}
