package connector

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexis says how a database's language writes strings and comments. Reading one wrongly would hide a statement from the guard.
type lexis struct {
	// backslash escapes inside strings ('…' and "…", or '…' only), # begins a comment, -- does so only before white space or a control
	// character, /*! is code: MySQL.
	backslash, backslashSingle, hash, dashSpace, code bool
	// brackets quote names, comments nest: SQL Server.
	brackets, nested bool
	// backticks quote names: MySQL, SQLite.
	backticks bool
	// returns end a comment that -- begins, as newlines do: PostgreSQL.
	returns bool
	// newlines: only they surely end such a comment; what else could is not told by anybody: SQL Server.
	newlines bool
	// A byte order mark is white space anywhere, and a comment that does not end is one all the same: SQLite.
	marks, openComments bool
	// escapeStrings: backslashes escape in E'…' and in what continues it on another line. dollars quote strings ($a$…$a$). U&"…" is a name
	// whose letters may be written as numbers: PostgreSQL.
	escapeStrings, dollars, coded bool
	// high: whatever is beyond ASCII belongs to a name, spaces and signs too, and bytes that are no text: all but SQL Server.
	high bool
	// signs: @ and # belong to a name: SQL Server.
	signs bool
}

// part is a piece of a statement.
type part int

const (
	spacePart part = iota // white space and comments
	wordPart              // a keyword or a plain name
	quotePart             // a string or a quoted name
	hintPart              // the beginning of a comment that is code
	openPart              // a string or a comment that does not end
	doubtPart             // what may be a comment, or may be none
	otherPart             // any one other character
)

const byteOrderMark = "\ufeff"

// next returns where the piece at i ends and what it is.
func (l lexis) next(text string, i int) (end int, what part) {
	rest := text[i:]
	switch b := rest[0]; {
	case strings.HasPrefix(rest, "/*"):
		if l.code && (strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!")) {
			return i + 3, hintPart
		}
		return l.blockComment(text, i)
	case strings.HasPrefix(rest, "--") && (!l.dashSpace || len(rest) == 2 || rest[2] <= ' '), b == '#' && l.hash:
		return l.lineComment(text, i)
	case l.dashSpace && strings.HasPrefix(rest, "--\x7f"):
		return i + 3, doubtPart
	case b == '\'', b == '"', b == '`' && l.backticks, b == '[' && l.brackets:
		return l.quoted(text, i)
	case b <= ' ':
		return i + 1, spacePart
	case b == '$' && l.dollars && dollarTag(rest) != "":
		tag := dollarTag(rest)
		if n := strings.Index(rest[len(tag):], tag); n >= 0 {
			return i + n + 2*len(tag), quotePart
		}
		return len(text), openPart
	case l.marks && strings.HasPrefix(rest, byteOrderMark):
		return i + len(byteOrderMark), spacePart
	}
	if n := l.wordLength(rest); n > 0 {
		return i + n, wordPart
	}
	_, size := utf8.DecodeRuneInString(rest)
	return i + size, otherPart
}

// wordLength returns how many bytes of a word text begins with. A digit begins none, but ends none either: 1e5 has no word in it. A word that
// ended here before it does for the database would let its rest begin something else, as $a$ begins a string.
func (l lexis) wordLength(text string) int {
	for n, r := range text {
		if !l.inWord(r) {
			return n
		}
	}
	return len(text)
}

// inWord reports whether a word may hold r, which is utf8.RuneError for what is no text.
func (l lexis) inWord(r rune) bool {
	switch {
	case r == '_', r == '$', unicode.IsLetter(r), unicode.IsDigit(r):
		return true
	case r == '@', r == '#':
		return l.signs
	}
	return l.high && r >= utf8.RuneSelf
}

// hangs reports whether a word begins with a number (1e1, 0x1, and money: $1), so that another may begin inside of it.
func hangs(word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	return first == '$' || unicode.IsDigit(first)
}

func (l lexis) lineComment(text string, i int) (int, part) {
	ends := "\n"
	if l.returns {
		ends = "\r\n"
	}
	end := len(text)
	if n := strings.IndexAny(text[i:], ends); n >= 0 {
		end = i + n + 1
	}
	if l.newlines && strings.ContainsAny(strings.TrimRight(text[i:end], "\r\n"), "\r\v\f\u0085\u2028\u2029") {
		return end, doubtPart
	}
	return end, spacePart
}

func (l lexis) blockComment(text string, i int) (int, part) {
	depth := 1
	for j := i + 2; j+1 < len(text); {
		switch {
		case text[j] == '*' && text[j+1] == '/':
			j += 2
			if depth--; depth == 0 {
				return j, spacePart
			}
		case l.nested && text[j] == '/' && text[j+1] == '*':
			depth++
			j += 2
		default:
			j++
		}
	}
	if l.openComments {
		return len(text), spacePart
	}
	return len(text), openPart
}

func (l lexis) quoted(text string, i int) (int, part) {
	quote := text[i]
	if quote == '[' {
		quote = ']'
	}
	coded := l.escapeStrings && quote == '\'' && l.prefixed(text, i, 'E')
	escapes := coded || l.backslash && (quote == '\'' || quote == '"') || l.backslashSingle && quote == '\''
	for j := i + 1; j < len(text); j++ {
		switch {
		case escapes && text[j] == '\\':
			j++
		case text[j] == quote && j+1 < len(text) && text[j+1] == quote:
			j++
		case text[j] == quote:
			more := continued(text, j+1)
			if !coded || more < 0 {
				return j + 1, quotePart
			}
			j = more
		}
	}
	return len(text), openPart
}

// prefixed reports whether nothing but this letter, small or large, is the word right before i.
func (l lexis) prefixed(text string, i int, letter byte) bool {
	if i == 0 || text[i-1]&^0x20 != letter {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(text[:i-1])
	return i == 1 || !l.inWord(last)
}

// continued returns where the quote is by which a string goes on that ended before i: one on another line, with nothing but spaces and
// comments between. It is negative when there is none.
func continued(text string, i int) int {
	line := false
	for i < len(text) {
		switch {
		case text[i] == '\'' && line:
			return i
		case strings.HasPrefix(text[i:], "--"):
			n := strings.IndexAny(text[i:], "\r\n")
			if n < 0 {
				return -1
			}
			i += n
		case strings.IndexByte(" \t\r\n\v\f", text[i]) >= 0:
			line = line || text[i] == '\n' || text[i] == '\r'
			i++
		default:
			return -1
		}
	}
	return -1
}

// dollarTag returns the tag that begins a string in dollars, both of them included: $$ or $a$.
func dollarTag(text string) string {
	for i := 1; i < len(text); i++ {
		b := text[i]
		switch {
		case b == '$':
			return text[:i+1]
		case b >= '0' && b <= '9' && i > 1, b == '_', b >= utf8.RuneSelf, 'a' <= b|0x20 && b|0x20 <= 'z':
		default:
			return ""
		}
	}
	return ""
}
