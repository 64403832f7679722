package connector

import (
	"slices"
	"strings"
)

// script is what the guard needs of a statement's text: what stands outside of strings, quoted names and comments.
type script struct {
	words []word
	// calls are the names, quoted or not, with a parenthesis behind them: functions mostly, and also IN ( and the like.
	calls []call
	// quoted are the names in double quotes, in capitals.
	quoted []string
	// coded: there is a name U&"…".
	coded bool
	// statements is how many there are, divided by semicolons.
	statements int
	// preceded: something stands before the first word, and it is more than brackets and semicolons.
	preceded bool
	// hints: there is a comment that the database runs as code (/*! … */).
	hints bool
	// variables: there is an @.
	variables bool
	// braces is how many { there are.
	braces int
	// open: a string, name or comment does not end.
	open bool
	// garbled: a string in single quotes does not end, or one begins right behind a backslash. MySQL runs nothing of such a text.
	garbled bool
	// doubtful: there is a comment that servers may see in different ways.
	doubtful bool
}

// word is a keyword or a plain name.
type word struct {
	// text is the word in capitals.
	text string
	// before is the piece right before it, with nothing but spaces between: a word in capitals, anything else as it stands. It is "" when that
	// is, or may be, a part of a number.
	before string
	// glued: it hangs on a number. Databases read the number and then, without a space, what is left (1e1into).
	glued bool
}

// is reports whether it is the wanted word, or may end with it because it hangs on a number.
func (w word) is(wanted string) bool {
	return w.text == wanted || w.glued && strings.HasSuffix(w.text, wanted)
}

// asBefore is what the word is to the next one.
func (w word) asBefore() string {
	if w.glued {
		return ""
	}
	return w.text
}

// passed is what a piece that is no word is to the next word. A point counts only when a name is before it.
func passed(piece, before string) string {
	if piece == "." && (before == "" || strings.HasPrefix(before, "'")) {
		return ""
	}
	return piece
}

// has reports whether one of the words occurs.
func (s *script) has(words ...string) bool {
	for _, wanted := range words {
		if slices.ContainsFunc(s.words, func(w word) bool { return w.is(wanted) }) {
			return true
		}
	}
	return false
}

// phrases reports whether the words of one of the phrases come one right after the other, whatever else than words is between them, and meant
// says that these are the words that are meant, and no names.
func (s *script) phrases(all [][]string, meant func(found []word) bool) bool {
	return slices.ContainsFunc(all, func(words []string) bool { return s.phrase(words, meant) })
}

func (s *script) phrase(words []string, meant func(found []word) bool) bool {
	for i := range len(s.words) - len(words) + 1 {
		if found := s.words[i : i+len(words)]; slices.EqualFunc(found, words, word.is) && meant(found) {
			return true
		}
	}
	return false
}

// said reports whether the words come one right after the other with nothing but spaces between.
func (s *script) said(words ...string) bool {
	for i := range len(s.words) - len(words) + 1 {
		if s.words[i].text != words[0] || s.words[i].before == "." {
			continue
		}
		n := 1
		for n < len(words) && s.words[i+n].text == words[n] && s.words[i+n].before == words[n-1] {
			n++
		}
		if n == len(words) {
			return true
		}
	}
	return false
}

// word returns the word at i, "" when there is none.
func (s *script) word(i int) string {
	if i >= len(s.words) {
		return ""
	}
	return s.words[i].text
}

// starts reports whether the statement begins with one of these words.
func (s *script) starts(words ...string) bool { return slices.Contains(words, s.word(0)) }

// scan reads a statement.
func scan(text string, l lexis) script {
	s := script{}
	inside := false // something of a statement was seen since the last semicolon
	number := false // the last word was, or was part of, a number
	before := ""    // see word.before
	var last call   // what a parenthesis would belong to
	for i := 0; i < len(text); {
		end, what := l.next(text, i)
		switch what {
		case spacePart:
		case hintPart:
			s.hints, inside = true, true
			before = ""
		case wordPart:
			number = s.add(text, i, end, number, before)
			inside = true
			before = s.words[len(s.words)-1].asBefore()
		default:
			inside = inside || text[i] != ';'
			s.variables = s.variables || text[i] == '@'
			if text[i] == '{' {
				s.braces++
			}
			s.addQuoted(text, i, end, l)
			before = passed(text[i:end], before)
			s.preceded = s.preceded || len(s.words) == 0 && text[i] != ';' && text[i] != '('
		}
		if what == otherPart && text[i] == '(' && last.name != "" {
			s.calls = append(s.calls, last)
		}
		last.pass(text[i:end], what)
		number = number && (what == wordPart || text[i] == '.')
		s.open = s.open || what == openPart
		s.garbled = s.garbled || text[i] == '\'' && (what == openPart || i > 0 && text[i-1] == '\\')
		s.doubtful = s.doubtful || what == doubtPart
		if inside && (what == otherPart && text[i] == ';' || end >= len(text)) {
			s.statements++
			inside = false
		}
		i = end
	}
	return s
}

// call is a name that may be a function's.
type call struct {
	name string
	// before is the word or name before it, with nothing but spaces between.
	before string
	// qualified: it belongs to a schema.
	qualified bool
	// point: the last piece was a point behind the name.
	point bool
}

// pass goes on to the next piece.
func (c *call) pass(piece string, what part) {
	switch {
	case what == spacePart:
	case (what == wordPart || what == quotePart) && c.point:
		c.name, c.qualified, c.point = strings.Trim(piece, "`\""), true, false
	case what == wordPart, what == quotePart:
		*c = call{name: strings.Trim(piece, "`\""), before: c.name}
	case piece == "." && c.name != "":
		c.point = true
	default:
		*c = call{}
	}
}

// add takes in the word at i. It reports whether that one hangs on a number: what begins with one, the exponent behind a number's point
// (1.e1, so the last word counts), and MySQL's \N.
func (s *script) add(text string, i, end int, number bool, before string) bool {
	w := word{text: capitals(text[i:end]), before: before}
	w.glued = hangs(w.text) || i > 0 && (text[i-1] == '\\' || text[i-1] == '.' && number)
	s.words = append(s.words, w)
	return w.glued
}

// capitals leaves all beyond ASCII as it is: to the databases ſelect is a name, and no SELECT.
func capitals(word string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, word)
}

// addQuoted takes in the piece at i when it is a name in double quotes.
func (s *script) addQuoted(text string, i, end int, l lexis) {
	if text[i] != '"' {
		return
	}
	s.quoted = append(s.quoted, strings.ToUpper(strings.Trim(text[i:end], `"`)))
	s.coded = s.coded || l.coded && strings.HasSuffix(text[:i], "&") && l.prefixed(text, i-1, 'U')
}
