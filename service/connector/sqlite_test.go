package connector

import (
	"testing"

	"github.com/mattn/go-sqlite3"

	"comporta/service/gateway"
)

// SQLite opens a file for reading when it may not write, and says so only at the first write. That is no matter of the request then.
func TestAFileThatTheMemberMayNotWriteIsNoReadOnlyRequest(t *testing.T) {
	refused := sqlite3.Error{Code: sqlite3.ErrReadonly}
	for readOnly, code := range map[bool]gateway.Code{true: gateway.CodeReadOnly, false: gateway.CodeDataSourceAccess} {
		if err := (&sqliteDialect{path: "data.db", readOnly: readOnly}).failure(refused); !gateway.IsCode(err, code) {
			t.Errorf("opened for reading (%v): %v", readOnly, err)
		}
	}
}
