package storetest

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// postgresServer is where tests look for PostgreSQL unless COMPORTA_TEST_POSTGRES names another server.
const postgresServer = "postgres://postgres@127.0.0.1:5432/postgres"

// Absent skips the test because something that it needs is not there, and fails it instead when COMPORTA_TEST_REQUIRE, a list with
// commas, names that thing.
func Absent(t testing.TB, what string, err error) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("COMPORTA_TEST_REQUIRE"), ","), what) {
		t.Fatalf("%s is required and absent: %v", what, err)
	}
	t.Skipf("%s is absent: %v", what, err)
}

// PostgresURL makes an empty database that is dropped after the test and returns its address.
func PostgresURL(t testing.TB) string {
	t.Helper()
	address := cmp.Or(os.Getenv("COMPORTA_TEST_POSTGRES"), postgresServer)
	name := "comporta_test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if err := command(address, "CREATE DATABASE "+name); err != nil {
		Absent(t, "postgres", err)
	}
	t.Cleanup(func() {
		if err := command(address, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("the test's database stays behind: %v", err)
		}
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func command(address, statement string) error {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, statement)
	return err
}
