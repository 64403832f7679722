package service

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"comporta/service/gateway"
)

// maxName is how many characters a name may have. Source: the Fabric specification (displayName, at most 200).
const maxName = 200

// maxText bounds descriptions, contact texts and annotations, in characters.
const maxText = 4000

// cleanName trims a name, brings it into Unicode's composed form and checks it: 1–200 characters of any script, no control characters, and
// something to see. In one form, so that two names which look alike because they are the same text are the same name to the unique indexes.
func cleanName(property, name string) (string, error) {
	if !utf8.ValidString(name) {
		return "", gateway.Errorf(gateway.CodeInvalid, "%s is not valid text.", property)
	}
	name = norm.NFC.String(strings.TrimSpace(name))
	if name == "" {
		return "", gateway.Errorf(gateway.CodeInvalid, "%s must not be empty.", property)
	}
	if utf8.RuneCountInString(name) > maxName {
		return "", gateway.Errorf(gateway.CodeInvalid, "%s is longer than %d characters.", property, maxName)
	}
	for _, r := range name {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return "", gateway.Errorf(gateway.CodeInvalid, "%s contains a control character.", property)
		}
	}
	if !strings.ContainsFunc(name, visible) {
		return "", gateway.Errorf(gateway.CodeInvalid, "%s consists of invisible characters only.", property)
	}
	return name, nil
}

// visible says whether a character shows something: it has a shape and is neither a space, a format character such as U+200B and U+FEFF, nor
// one of those that are letters or symbols by their class and blank all the same.
func visible(r rune) bool {
	const brailleBlank = 0x2800
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) && r != brailleBlank &&
		!unicode.In(r, unicode.Cf, unicode.Zs, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// checkText checks a free text: at most maxText characters, valid UTF-8, no NUL (PostgreSQL cannot store one).
func checkText(property, text string) error {
	if utf8.RuneCountInString(text) > maxText {
		return gateway.Errorf(gateway.CodeInvalid, "%s is longer than %d characters.", property, maxText)
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return gateway.Errorf(gateway.CodeInvalid, "%s is not valid text.", property)
	}
	return nil
}

// sameName compares names as the unique indexes do: letter case does not count.
func sameName(a, b string) bool {
	return strings.ToLower(norm.NFC.String(a)) == strings.ToLower(norm.NFC.String(b))
}
