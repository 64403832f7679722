package connector

import (
	"encoding/json"
	"strconv"
	"strings"

	"comporta/service/gateway"
)

// maxParameters is how many parameters one query may have: PostgreSQL's and MySQL's own bound.
const maxParameters = 65535

// asText binds a number that is no 64-bit integer as its text, which databases with a decimal type read exactly.
func asText(decimal string) any { return decimal }

// parameters turns a query's parameters into what databases take: nil, bool, string, int64, and what decimal makes of other numbers.
// Anything nested is refused with CodeInvalid, and so is a text with a NUL, at which drivers written in C would stop reading.
func parameters(q *gateway.Query, decimal func(string) any) ([]any, error) {
	if len(q.Parameters) > maxParameters {
		return nil, gateway.Errorf(gateway.CodeInvalid, "The query has %d parameters; %d are allowed.", len(q.Parameters), maxParameters)
	}
	values := make([]any, len(q.Parameters))
	for i, p := range q.Parameters {
		switch v := p.(type) {
		case nil, bool:
			values[i] = v
		case string:
			if strings.ContainsRune(v, 0) {
				return nil, gateway.Errorf(gateway.CodeInvalid, "Parameter %d holds a NUL character, which no database takes as text.", i+1)
			}
			values[i] = v
		case json.Number:
			n, err := number(v, decimal)
			if err != nil {
				return nil, gateway.Errorf(gateway.CodeInvalid, "Parameter %d is not a number.", i+1)
			}
			values[i] = n
		default:
			return nil, gateway.Errorf(gateway.CodeInvalid, "Parameter %d must be a string, a number, true, false or null.", i+1)
		}
	}
	return values, nil
}

// number returns an int64 for an integer that fits one, else what decimal makes of the number's text.
func number(n json.Number, decimal func(string) any) (any, error) {
	text := n.String()
	if !strings.ContainsAny(text, ".eE") {
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			return v, nil
		}
	}
	if !json.Valid([]byte(text)) || text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return nil, strconv.ErrSyntax
	}
	return decimal(text), nil
}
