package persistence

import (
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// fault is what kind of failure a driver reports, recognised by its codes.
type fault int

const (
	// faultOther is none of the following, or no failure of the database at all.
	faultOther fault = iota
	// faultTaken: a unique name is taken. faultTakenID: a primary key is.
	faultTaken
	faultTakenID
	// faultMissing: what a row refers to is not there.
	faultMissing
	// faultRetry: the transaction lost against another one and is to be run again.
	faultRetry
	// faultUnavailable: the database cannot be reached or cannot work now.
	faultUnavailable
)

// dialect is all that differs between the two databases once they are open.
type dialect struct {
	migrations goose.Dialect
	// numbered: placeholders are $1, $2 and so on instead of question marks.
	numbered bool
	// each is the table function that turns a JSON array of texts into rows with a column named value.
	each string
	// lock makes write transactions wait for each other; "" when the pool does. checkpoint is run before the database is closed.
	lock, checkpoint string
	classify         func(err error) fault
}

// rewrite turns a statement as this package writes them (placeholders ?, lists of ids as each(?)) into the database's own.
func (d *dialect) rewrite(statement string) string {
	statement = strings.ReplaceAll(statement, "each(?)", d.each)
	if !d.numbered {
		return statement
	}
	var out strings.Builder
	out.Grow(len(statement) + 32)
	for n := 1; ; n++ {
		before, after, found := strings.Cut(statement, "?")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString("$" + strconv.Itoa(n))
		statement = after
	}
}
