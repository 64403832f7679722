package gateway

import (
	"encoding/hex"
	"strings"
)

// ID is a GUID in its canonical form: lower case, 8-4-4-4-12. The zero value is "" and means "none".
// Every ID that leaves the product has this form, so that ids can be compared as text.
type ID string

// ParseID accepts a GUID in any of the usual forms (any letter case, with or without hyphens, in braces or parentheses, with the
// urn:uuid: prefix) and returns the canonical form. ok is false for anything else.
func ParseID(text string) (id ID, ok bool) {
	if canonical(text) {
		return ID(text), true
	}
	text = strings.TrimSpace(text)
	if len(text) > 9 && strings.EqualFold(text[:9], "urn:uuid:") {
		text = text[9:]
	}
	if n := len(text); n >= 2 && (text[0] == '{' && text[n-1] == '}' || text[0] == '(' && text[n-1] == ')') {
		text = text[1 : n-1]
	}
	switch len(text) {
	case 36:
		if text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
			return "", false
		}
		text = text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:]
	case 32:
	default:
		return "", false
	}
	raw, err := hex.DecodeString(text)
	if err != nil {
		return "", false
	}
	return IDFromBytes([16]byte(raw)), true
}

// canonical reports whether text is a GUID in its canonical form already, as nearly every one is.
func canonical(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		switch c := text[i]; {
		case hyphen && c == '-', !hyphen && (c >= '0' && c <= '9' || c >= 'a' && c <= 'f'):
		default:
			return false
		}
	}
	return true
}

// IDFromBytes returns the canonical form of the 16 bytes of a GUID.
func IDFromBytes(raw [16]byte) ID {
	var out [36]byte
	hex.Encode(out[0:8], raw[0:4])
	hex.Encode(out[9:13], raw[4:6])
	hex.Encode(out[14:18], raw[6:8])
	hex.Encode(out[19:23], raw[8:10])
	hex.Encode(out[24:36], raw[10:16])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return ID(out[:])
}

// String returns the canonical text.
func (id ID) String() string { return string(id) }
