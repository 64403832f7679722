package credential

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"comporta/service/gateway"
)

// maxPairs bounds the pairs of one envelope; the longest known list has about a dozen.
const maxPairs = 64

var errPlaintext = errors.New("not a credentials text")

// Parse reads the JSON text inside an envelope, or one that came in the clear: {"credentialData":[{"name":"…","value":"…"},…]}, with []
// or "" in place of the list for Anonymous. It answers CodeCredentialFormat, without quoting the text.
//
// Quotes may be single and strings may hold Python's \xNN and \UNNNNNNNN beside JSON's escapes, because Microsoft's Python sample
// writes so. Otherwise it is strict: only these properties, each once, string values, no name twice, no more than 64 pairs.
func Parse(text []byte) (Pairs, error) {
	if utf8.Valid(text) && len(text) <= MaxEnvelope {
		p := parser{rest: string(text)}
		if pairs, ok := p.document(); ok {
			return pairs, nil
		}
	}
	return nil, gateway.Wrap(gateway.CodeCredentialFormat, errPlaintext,
		`The credentials are not of the form {"credentialData":[{"name":"…","value":"…"}]} with string values and no name twice.`)
}

// parser consumes rest from its front. Each method reports whether it found what it is named after.
type parser struct{ rest string }

func (p *parser) document() (Pairs, bool) {
	if !p.token('{') || !p.named("credentialData") {
		return nil, false
	}
	pairs, ok := p.value()
	if !ok || !p.token('}') {
		return nil, false
	}
	p.blanks()
	return pairs, p.rest == ""
}

// value is a list of pairs or an empty string.
func (p *parser) value() (Pairs, bool) {
	if p.token('[') {
		return p.list()
	}
	s, ok := p.text()
	return Pairs{}, ok && s == ""
}

func (p *parser) list() (Pairs, bool) {
	pairs, seen := Pairs{}, map[string]bool{}
	if p.token(']') {
		return pairs, true
	}
	for len(pairs) < maxPairs {
		pair, ok := p.pair()
		if !ok || seen[pair.Name] {
			return nil, false
		}
		seen[pair.Name] = true
		pairs = append(pairs, pair)
		if p.token(']') {
			return pairs, true
		}
		if !p.token(',') {
			return nil, false
		}
	}
	return nil, false
}

// pair is an object with name and value in either order.
func (p *parser) pair() (pair Pair, ok bool) {
	if !p.token('{') {
		return pair, false
	}
	first, ok1 := p.text()
	second := map[string]string{"name": "value", "value": "name"}[first]
	if !ok1 || second == "" || !p.token(':') {
		return pair, false
	}
	a, ok1 := p.text()
	if !ok1 || !p.token(',') || !p.named(second) {
		return pair, false
	}
	b, ok1 := p.text()
	if !ok1 || !p.token('}') {
		return pair, false
	}
	if first == "name" {
		return Pair{a, b}, true
	}
	return Pair{b, a}, true
}

// named is a property name and the colon behind it.
func (p *parser) named(name string) bool {
	s, ok := p.text()
	return ok && s == name && p.token(':')
}

func (p *parser) blanks() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *parser) token(c byte) bool {
	p.blanks()
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// text is a string in single or double quotes.
func (p *parser) text() (string, bool) {
	p.blanks()
	if p.rest == "" || p.rest[0] != '"' && p.rest[0] != '\'' {
		return "", false
	}
	quote := p.rest[0]
	p.rest = p.rest[1:]
	var out strings.Builder
	for p.rest != "" {
		c := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case c == quote:
			return out.String(), true
		case c < ' ':
			return "", false
		case c != '\\':
			out.WriteByte(c)
		case !p.escape(&out):
			return "", false
		}
	}
	return "", false
}

// plainEscapes are the escapes of one character.
var plainEscapes = map[byte]byte{'"': '"', '\'': '\'', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape is what follows a backslash.
func (p *parser) escape(out *strings.Builder) bool {
	if p.rest == "" {
		return false
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	if plain, ok := plainEscapes[c]; ok {
		out.WriteByte(plain)
		return true
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	r, ok := p.hex(digits)
	if ok && c == 'u' && utf16.IsSurrogate(r) {
		r, ok = p.secondHalf(r)
	}
	if !ok || !utf8.ValidRune(r) {
		return false
	}
	out.WriteRune(r)
	return true
}

// secondHalf is the other half of a surrogate pair.
func (p *parser) secondHalf(first rune) (rune, bool) {
	if !strings.HasPrefix(p.rest, `\u`) {
		return 0, false
	}
	p.rest = p.rest[2:]
	second, ok := p.hex(4)
	r := utf16.DecodeRune(first, second)
	return r, ok && r != utf8.RuneError
}

// hex is a number of exactly so many hexadecimal digits.
func (p *parser) hex(digits int) (rune, bool) {
	if digits == 0 || len(p.rest) < digits {
		return 0, false
	}
	n, err := strconv.ParseUint(p.rest[:digits], 16, 31)
	p.rest = p.rest[digits:]
	return rune(n), err == nil
}
