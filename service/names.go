package service

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"comporta/service/gateway"
)

// maxName is how many characters a name may have. Source: the Fabric specification (displayName, at most 200).
const maxName = 200

// maxText bounds descriptions, contact texts and annotations, in characters.
const maxText = 4000

// cleanName trims a name and checks it: 1–200 characters of any script, no control characters.
func cleanName(property, name string) (string, error) {
	name = strings.TrimSpace(name)
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
	return name, nil
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
func sameName(a, b string) bool { return strings.ToLower(a) == strings.ToLower(b) }
