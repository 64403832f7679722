package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"comporta/service/credential"
)

// The scripts differ in one place: a city has a space at its end in two of them. The queries leave it out.
//
// Twenty queries, written with the names that SQLite and MySQL have; PostgreSQL's are the same in snake case. What the databases compute in
// different types (sums, averages) is brought to whole cents.
var chinookQueries = []string{
	"select count(*) as n from Track",
	"select ArtistId, Name from Artist order by ArtistId",
	"select TrackId, Name, Composer, Milliseconds, Bytes, UnitPrice from Track order by TrackId",
	"select InvoiceId, InvoiceDate, Total, BillingState from Invoice order by InvoiceId",
	"select EmployeeId, FirstName, LastName, Title, ReportsTo, BirthDate, HireDate from Employee order by EmployeeId",
	"select CustomerId, FirstName, LastName, Company, Country, Email, Fax from Customer order by CustomerId",
	"select a.Title, r.Name from Album a join Artist r on r.ArtistId = a.ArtistId order by a.AlbumId",
	"select t.TrackId, t.Name, g.Name, m.Name, t.UnitPrice from Track t join Genre g on g.GenreId = t.GenreId join MediaType m on m.MediaTypeId = t.MediaTypeId where t.Milliseconds > 1000000 order by t.TrackId",
	"select g.GenreId, g.Name, count(*) as n, max(t.Milliseconds) as longest, min(t.Bytes) as smallest from Genre g join Track t on t.GenreId = g.GenreId group by g.GenreId, g.Name order by g.GenreId",
	"select c.CustomerId, c.LastName, count(i.InvoiceId) as n, cast(round(sum(i.Total) * 100) as integer) as cents from Customer c join Invoice i on i.CustomerId = c.CustomerId group by c.CustomerId, c.LastName order by c.CustomerId",
	"select BillingCountry, count(*) as n, cast(round(sum(Total) * 100) as integer) as cents from Invoice group by BillingCountry having count(*) > 7 order by n desc, cents desc",
	"select CustomerId, FirstName, PostalCode from Customer where Company is null and State is not null order by CustomerId",
	"select EmployeeId, coalesce(ReportsTo, 0) as boss from Employee order by EmployeeId",
	"select e.LastName, b.LastName from Employee e left join Employee b on b.EmployeeId = e.ReportsTo order by e.EmployeeId",
	"select InvoiceId, InvoiceDate from Invoice where InvoiceDate >= '2022-01-01' and InvoiceDate < '2022-02-01' order by InvoiceId",
	"select Name, Composer from Track where AlbumId in (21, 24, 53, 70) order by TrackId",
	"select p.PlaylistId, p.Name, count(pt.TrackId) as n from Playlist p left join PlaylistTrack pt on pt.PlaylistId = p.PlaylistId group by p.PlaylistId, p.Name order by p.PlaylistId",
	"select il.InvoiceLineId, il.UnitPrice, il.Quantity, t.Name from InvoiceLine il join Track t on t.TrackId = il.TrackId where il.InvoiceId = 5 order by il.InvoiceLineId",
	"select case when Milliseconds > 300000 then 'long' else 'short' end as kind, count(*) as n from Track group by case when Milliseconds > 300000 then 'long' else 'short' end order by kind",
	"select distinct c.CustomerId, c.FirstName, c.LastName from Customer c where exists (select 1 from Invoice i where i.CustomerId = c.CustomerId and i.Total > 15) order by c.CustomerId",
}

// chinookFolder is where the data set lies; it is not part of the project.
func chinookFolder(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("COMPORTA_TEST_CHINOOK")
	if folder == "" {
		absent(t, "chinook", os.ErrNotExist)
	}
	if _, err := os.Stat(filepath.Join(folder, "Chinook_Sqlite.sql")); err != nil {
		absent(t, "chinook", err)
	}
	return folder
}

func script(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(text), "\ufeff")
}

// withoutDatabase leaves out the lines that make, drop or choose the database: it is there already.
var withoutDatabase = regexp.MustCompile(`(?im)^(drop database|create database|use |\\c ).*$`)

var identifier = regexp.MustCompile(`'[^']*'|\b[A-Z][a-z]\w*`)

// snake turns the CamelCase names of a query into snake case, outside of texts.
func snake(query string) string {
	return identifier.ReplaceAllStringFunc(query, func(word string) string {
		if word[0] == '\'' {
			return word
		}
		var b strings.Builder
		for i, r := range word {
			if unicode.IsUpper(r) && i > 0 {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
		}
		return b.String()
	})
}

func TestOneQueryOneAnswerFromEverySource(t *testing.T) {
	folder := chinookFolder(t)
	pgName, pg := postgres(t)
	run(t, pg, withoutDatabase.ReplaceAllString(script(t, folder, "Chinook_PostgreSql.sql"), ""), "grant all on all tables in schema public to "+pgName)
	myName, my := mariadb(t)
	run(t, my, withoutDatabase.ReplaceAllString(script(t, folder, "Chinook_MySql.sql"), ""))
	files := t.TempDir()
	file := filepath.Join(files, "chinook.db")
	run(t, open(t, "sqlite3", "file:"+file), script(t, folder, "Chinook_Sqlite.sql"))

	w := serve(t, t.TempDir(), "127.0.0.1:0")
	w.member("one", "--allow-folder", files)
	w.member("two", "--allow-folder", files)
	w.call("PATCH", "/gatewayClusters/"+w.cluster, map[string]any{"loadBalancingSelectorType": "Random"}, nil)
	sqlite := w.source("sqlite", "Extension", `{"kind":"SQLite","path":"`+file+`"}`, credential.Anonymous())
	postgres := w.source("postgres", "PostgreSql", `{"server":"127.0.0.1:5432","database":"`+pgName+`"}`, credential.Basic(pgName, dbPassword))
	maria := w.source("mariadb", "MySql", `{"server":"127.0.0.1:3306","database":"`+myName+`"}`, credential.Basic(myName, dbPassword))
	for _, query := range chinookQueries {
		want := w.rows(sqlite, query)
		if len(want) < 5 {
			t.Errorf("%s: only %s", query, want)
		}
		for name, got := range map[string]string{"PostgreSQL": w.rows(postgres, snake(query)), "MariaDB": w.rows(maria, query)} {
			if got != want {
				t.Errorf("%s\n%s differs at\n  %.200s\nfrom SQLite's\n  %.200s", query, name, from(got, want), from(want, got))
			}
		}
	}
}

// from is a from a little before the place where it differs from b.
func from(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return a[max(0, i-40):]
}
