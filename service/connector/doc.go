// Package connector speaks to the data sources on the private network: SQL databases and web addresses. It runs on members only.
//
// A request is run where its data source is: Connectors.Run opens (or reuses) a pool for the data source, runs the query in a
// read-only or read-write transaction, and writes the rows to the caller as they come. Nothing is collected: a reader that stops
// reading stops the database, and a context that ends cancels the query on the database.
//
// A row of a database or of a CSV or JSON file has 16 MiB at most, as it comes; a larger one is CodeQuery with words that say so
// (TestARowIsBounded). PostgreSQL, MySQL and files are not read beyond that. SQLite makes no larger value, and smaller ones in rows of many
// columns. SQL Server's driver cannot be held back, so there a row is refused once it is read.
//
// # Values
//
// A value means the same whatever database it comes from. The column type is one of the words below, and the JSON value is:
//
//	int64, uint64   a number with all its digits (MySQL BIT counts as uint64, TINYINT(1) as int64)
//	decimal         a string with the scale that the database gives it: "12.50"; never through a float
//	double          a number, the shortest text that reads back to the same float; "NaN", "Infinity", "-Infinity" are strings
//	bool            true or false
//	text            a string; bytes that are not UTF-8 become U+FFFD
//	binary          a string in standard base64
//	date            "2006-01-02"
//	time            "15:04:05.999999"
//	timestamp       "2006-01-02T15:04:05.999999", a wall clock without a zone
//	timestamptz     "2006-01-02T15:04:05.999999+00:00", RFC 3339, always with a numeric offset; sessions run in UTC
//	uuid            a string, canonical and lower case
//	json            the value itself, its own digits and key order kept (in CSV its text)
//	other           a string: the database's own text (intervals, arrays, enumerations, network addresses, …)
//
// NULL is null. Fractions of a second lose their trailing zeros, and are left out when they are zero. A date or time that the form
// above cannot hold ("infinity", years before Christ, MySQL's zero dates) keeps the database's own text.
//
// SQLite has types per value, not per column. The declared type of a column decides where it says something (DECIMAL(10,2) gives
// decimal with scale 2 or more, DATETIME gives timestamp), and a value that does not fit it is written by its own storage class. A UUID
// is written as it is stored, so that it is found again by what was read. A column without a declared type (an expression) takes the
// storage class of its first value.
//
// A CSV file is read by encoding/csv: a line break inside of quotes is read as \n, also where the file has \r\n, and empty lines are
// passed over, which in a file of one column is what an answer writes for NULL.
//
// The package imports the vocabulary (service/gateway), the standard library and the SQL drivers of data sources.
package connector
