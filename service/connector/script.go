package connector

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexis says how a database's language writes strings and comments. Reading one wrongly would hide a statement from the guard.
type lexis struct {
	// backslash escapes inside strings ('…' and "…", or '…' only), # begins a comment, -- does so only before white space, /*! is code: MySQL.
	backslash, backslashSingle, hash, dashSpace, code bool
	// brackets quote names, comments nest: SQL Server.
	brackets, nested bool
	// backticks quote names: MySQL, SQLite.
	backticks bool
}

// script is what the guard needs of a statement's text: what stands outside of strings, quoted names and comments.
type script struct {
	// words in capitals, in order.
	words []string
	// statements is how many there are, divided by semicolons.
	statements int
	// hints: there is a comment that the database runs as code (/*! … */).
	hints bool
	// variables: there is an @.
	variables bool
	// open: a string, name or comment does not end.
	open bool
}

// has reports whether one of the words occurs.
func (s *script) has(words ...string) bool {
	for _, word := range s.words {
		for _, wanted := range words {
			if word == wanted {
				return true
			}
		}
	}
	return false
}

// first returns the word that the statement begins with, "" when there is none.
func (s *script) first() string {
	if len(s.words) == 0 {
		return ""
	}
	return s.words[0]
}

// starts reports whether the statement begins with one of these words.
func (s *script) starts(words ...string) bool {
	for _, word := range words {
		if s.first() == word {
			return true
		}
	}
	return false
}

// scan reads a statement.
func scan(text string, l lexis) script {
	s := script{}
	inside := false // something of a statement was seen since the last semicolon
	for i := 0; i < len(text); {
		end, what := l.next(text, i)
		switch what {
		case spacePart:
		case hintPart:
			s.hints, inside = true, true
		case wordPart:
			s.words = append(s.words, strings.ToUpper(text[i:end]))
			inside = true
		default:
			inside = inside || text[i] != ';'
			s.variables = s.variables || text[i] == '@'
		}
		if what == openPart {
			s.open = true
		}
		if inside && (what == otherPart && text[i] == ';' || end >= len(text)) {
			s.statements++
			inside = false
		}
		i = end
	}
	return s
}

// part is a piece of a statement.
type part int

const (
	spacePart part = iota // white space and comments
	wordPart              // a keyword or a plain name
	quotePart             // a string or a quoted name
	hintPart              // the beginning of a comment that is code
	openPart              // a string or a comment that does not end
	otherPart             // any one other character
)

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
		if n := strings.IndexByte(rest, '\n'); n >= 0 {
			return i + n + 1, spacePart
		}
		return len(text), spacePart
	case b == '\'', b == '"', b == '`' && l.backticks, b == '[' && l.brackets:
		return l.quoted(text, i)
	case b <= ' ':
		return i + 1, spacePart
	}
	if n := wordLength(rest); n > 0 {
		return i + n, wordPart
	}
	_, size := utf8.DecodeRuneInString(rest)
	return i + size, otherPart
}

// wordLength returns how many bytes of a word text begins with. A digit begins none, but ends none either: 1e5 has no word in it.
func wordLength(text string) int {
	for n, r := range text {
		if r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			continue
		}
		return n
	}
	return len(text)
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
	return len(text), openPart
}

func (l lexis) quoted(text string, i int) (int, part) {
	quote := text[i]
	if quote == '[' {
		quote = ']'
	}
	escapes := l.backslash && (quote == '\'' || quote == '"') || l.backslashSingle && quote == '\''
	for j := i + 1; j < len(text); j++ {
		switch {
		case escapes && text[j] == '\\':
			j++
		case text[j] == quote && j+1 < len(text) && text[j+1] == quote:
			j++
		case text[j] == quote:
			return j + 1, quotePart
		}
	}
	return len(text), openPart
}
