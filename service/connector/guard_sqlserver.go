package connector

import "slices"

// sqlServerWriters are words that do not occur outside of strings, quoted names and comments in a query that only reads.
var sqlServerWriters = []string{
	"INTO", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "CREATE", "ALTER", "DROP", "EXEC", "EXECUTE", "GRANT", "REVOKE", "DENY",
	"OPENROWSET", "OPENQUERY", "OPENDATASOURCE", "BULK", "DBCC", "DECLARE", "SET", "BEGIN", "COMMIT", "ROLLBACK", "SAVE", "TRAN",
	"TRANSACTION", "WAITFOR", "KILL", "SHUTDOWN", "BACKUP", "RESTORE", "RECONFIGURE", "CHECKPOINT", "WRITETEXT", "UPDATETEXT",
	"REVERT", "GOTO", "WHILE", "IF", "PRINT", "RAISERROR", "SETUSER", "DUMP", "LOAD", "OPEN", "CLOSE", "DEALLOCATE",
}

// sqlServerPhrases are such words that mean something only together.
var sqlServerPhrases = [][]string{{"NEXT", "VALUE"}, {"END", "CONVERSATION"}, {"GET", "CONVERSATION"}, {"MOVE", "CONVERSATION"},
	{"ADD", "SIGNATURE"}, {"ADD", "COUNTER"},
	{"ADD", "SENSITIVITY"}, {"RENAME", "OBJECT"}, {"RENAME", "DATABASE"}, {"ENABLE", "TRIGGER"}, {"DISABLE", "TRIGGER"}, {"SEND", "ON", "CONVERSATION"}}

// sqlServerBeforeNames are what cannot end a statement, so that what comes next, a column called receive, begins none. A star can, and so
// can a bracket that closes, a value and a name.
var sqlServerBeforeNames = []string{".", ",", "(", "=", "<", ">", "+", "-", "/", "%", "&", "|", "^", "~",
	"SELECT", "DISTINCT", "FROM", "JOIN", "ON", "WHERE", "HAVING", "BY", "AS", "AND", "OR", "NOT", "LIKE", "BETWEEN", "WHEN", "THEN"}

// sqlServerBegins reports whether a word that is also harmless begins a statement at i: MERGE is also a hint (MERGE JOIN), USE too (USE HINT),
// and RECEIVE a name.
func sqlServerBegins(words []word, i int) bool {
	w := words[i]
	next := ""
	if i+1 < len(words) && words[i+1].before == w.text {
		next = words[i+1].text
	}
	switch {
	case w.is("MERGE"):
		return w.glued || next != "JOIN" && next != "UNION"
	case w.is("USE"):
		return w.glued || w.before != "(" && w.before != "," || next != "HINT" && next != "PLAN"
	case w.is("RECEIVE"):
		return w.glued || !slices.Contains(sqlServerBeforeNames, w.before)
	}
	return false
}

// sqlServerWrites reports whether some word, or some words together, do more than read.
func sqlServerWrites(s *script) bool {
	for i := range s.words {
		if sqlServerBegins(s.words, i) {
			return true
		}
	}
	return s.has(sqlServerWriters...) || s.phrases(sqlServerPhrases, oneClause)
}

// oneClause reports whether the second of the words may go on with what the first began. What comes behind a comma, or behind a point that
// belongs to no number, is a column of its own.
func oneClause(found []word) bool {
	second := found[1]
	return second.glued || second.before != "," && second.before != "."
}

// sqlServerLocks are hints that keep others out for as long as the request runs; a slow reader makes that long.
var sqlServerLocks = []string{"TABLOCK", "TABLOCKX", "XLOCK", "UPDLOCK", "HOLDLOCK", "SERIALIZABLE", "REPEATABLEREAD"}

// sqlServerEscapes are the ODBC escapes, which stand in braces, that are values, functions, joins and the sign that escapes in LIKE. There is
// one that calls a procedure.
var sqlServerEscapes = []string{"D", "T", "TS", "GUID", "INTERVAL", "FN", "OJ", "ESCAPE"}

// escapes reports whether all braces are such escapes.
func escapes(s *script) bool {
	n := 0
	for _, w := range s.words {
		if w.before == "{" && slices.Contains(sqlServerEscapes, w.text) {
			n++
		}
	}
	return n == s.braces
}

// sqlServerCommits reports whether a batch may commit by itself: by COMMIT, behind a ROLLBACK, which ends the transaction and leaves every
// statement after it to itself, or in a procedure, which needs no EXECUTE where a batch begins.
func sqlServerCommits(s *script) bool {
	return s.open || s.doubtful || s.preceded || !s.starts("SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE") || s.has("COMMIT", "ROLLBACK", "EXEC", "EXECUTE")
}

// guardSQLServer: SQL Server has no read-only transactions and takes several statements without a semicolon between them. So a
// read-only request is one SELECT, with or without a WITH before it, and nothing else; in doubt it is refused. Nothing stands before
// these either: the name that a text begins with, quoted or not, is that of a procedure which it runs.
func guardSQLServer(text string, readOnly bool) (verdict, error) {
	s := scan(text, sqlServerLexis)
	switch {
	case s.statements == 0:
		return verdict{}, noStatement()
	case !readOnly:
		return verdict{commits: sqlServerCommits(&s)}, nil
	}
	single := !s.open && !s.doubtful && s.statements == 1 && !s.preceded && s.starts("SELECT", "WITH")
	switch {
	case !single, !escapes(&s), sqlServerWrites(&s):
		return verdict{}, writes("only a single SELECT is allowed in it")
	case s.has(sqlServerLocks...):
		return verdict{}, writes("table hints that lock are not allowed in it")
	}
	return verdict{}, nil
}
