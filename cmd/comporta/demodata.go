package main

// demoData makes the sample database, one statement per request. Everything is worked out from the row's number, so that every run makes
// the same rows.
var demoData = []string{
	`CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, since DATE NOT NULL, discount DECIMAL(5,2))`,
	`CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers, ordered DATE NOT NULL,
	amount DECIMAL(10,2) NOT NULL, note TEXT)`,
	`INSERT INTO customers
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000),
	given(k, v) AS (VALUES (0,'Zoë'),(1,'Łukasz'),(2,'José'),(3,'Ngọc'),(4,'Σοφία'),(5,'Дмитрий'),(6,'Anaïs'),(7,'João'),(8,'Ægir'),(9,'Mary')),
	family(k, v) AS (VALUES (0,'Müller'),(1,'Wiśniewski'),(2,'Ibáñez'),(3,'Nguyễn'),(4,'Παπαδοπούλου'),(5,'Иванов'),(6,'Lefèvre'),(7,'Gonçalves'),(8,'Þórsson'),(9,'Smith'),(10,'Ōta')),
	town(k, v) AS (VALUES (0,'Lisboa'),(1,'Zürich'),(2,'Kraków'),(3,'Αθήνα'),(4,'Malmö'),(5,'Besançon'),(6,'Reykjavík'))
	SELECT i, given.v || ' ' || family.v, town.v, date('2015-01-01', '+' || (i * 17 % 3000) || ' days'),
		CASE WHEN i % 5 = 0 THEN NULL ELSE (i * 13 % 2500) / 100.0 END
	FROM n JOIN given ON given.k = i % 10 JOIN family ON family.k = i % 11 JOIN town ON town.k = i % 7`,
	`INSERT INTO orders
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
	SELECT i, i * 7919 % 2000 + 1, date('2021-01-01', '+' || (i * 37 % 1826) || ' days'), (i * 104729 % 999983) / 100.0,
		CASE WHEN i % 10 = 0 THEN 'dringend – bitte prüfen' END
	FROM n`,
	`CREATE INDEX orders_customer ON orders (customer_id)`,
}

// demoQuery is what the demo dispatches: it has exact decimals, dates, NULLs and names from many places.
const demoQuery = `select o.id, c.name, c.city, o.ordered, o.amount, o.note from orders o join customers c on c.id = o.customer_id order by o.amount desc, o.id limit 8`
