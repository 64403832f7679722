package rest

import (
	"bytes"
	"encoding/json"
)

// What follows walks JSON that json.Valid has accepted, so it looks only for where things end. It makes no copies: names and values are
// pieces of the text.

// eachProperty walks an object in its order; a map would hide properties given twice.
func eachProperty(text []byte, path string, visit func(name []byte, value json.RawMessage) error) error {
	i := space(text, 0)
	if text[i] != '{' {
		return wrongType(path, "an object")
	}
	for i = space(text, i+1); text[i] != '}'; {
		end := value(text, i)
		name, err := plainName(text[i:end])
		if err != nil {
			return err
		}
		i = space(text, space(text, end)+1) // over the colon
		end = value(text, i)
		if err := visit(name, text[i:end:end]); err != nil {
			return err
		}
		i = next(text, end)
	}
	return nil
}

// eachItem walks a list. It reports false for what is none.
func eachItem(text []byte, visit func(json.RawMessage)) bool {
	i := space(text, 0)
	if text[i] != '[' {
		return string(text) == "null"
	}
	for i = space(text, i+1); text[i] != ']'; {
		end := value(text, i)
		visit(text[i:end:end])
		i = next(text, end)
	}
	return true
}

// space returns where the white space that begins at i ends.
func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// next goes from the end of a value to the next one or to the closing bracket.
func next(text []byte, i int) int {
	if i = space(text, i); text[i] == ',' {
		return space(text, i+1)
	}
	return i
}

// value returns where the value that begins at i ends.
func value(text []byte, i int) int {
	switch text[i] {
	case '"':
		return quoted(text, i)
	case '{', '[':
		return nested(text, i)
	}
	for i < len(text) && !bytes.ContainsRune([]byte(",]} \t\n\r"), rune(text[i])) {
		i++
	}
	return i
}

func quoted(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func nested(text []byte, i int) int {
	for depth := 0; ; i++ {
		switch text[i] {
		case '"':
			i = quoted(text, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// plainName is a quoted name without its quotes and escapes.
func plainName(text []byte) ([]byte, error) {
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1], nil
	}
	name, err := unquote(text)
	return []byte(name), err
}

// unquote reads a JSON text.
func unquote(text []byte) (plain string, err error) {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text[1 : len(text)-1]), nil
	}
	err = json.Unmarshal(text, &plain)
	return plain, err
}
