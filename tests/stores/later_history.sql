-- What later kept stores went through after `history.sql`. It may grow: a store keeps what was written when it was made.
CREATE TABLE quotes (sym varchar, at timestamp, price numeric(10, 4), PRIMARY KEY (sym, at));
CREATE TABLE trades (id int PRIMARY KEY, sym varchar, at timestamp, qty int);
CREATE TABLE visits (id int, customer int, at timestamptz) APPEND ONLY;
INSERT INTO quotes SELECT chr(97 + i % 3), timestamp '2024-01-01' + i * interval '10 seconds', i / 4.0 FROM generate_series(1, 60) i;
INSERT INTO trades SELECT i, chr(97 + i % 4), timestamp '2024-01-01' + i * interval '17 seconds', i FROM generate_series(1, 40) i;
INSERT INTO visits SELECT i, i % 25, timestamptz '2024-01-01 00:00:00+00' + i * interval '1 hour' FROM generate_series(1, 50) i;
CREATE MATERIALIZED VIEW asof_join AS SELECT t.id, t.sym, q.at, q.price FROM trades t ASOF LEFT JOIN quotes q ON t.sym = q.sym AND t.at >= q.at;
CREATE MATERIALIZED VIEW temporal_join AS SELECT v.id, c.name FROM visits v LEFT JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() c ON v.customer = c.id;
CREATE MATERIALIZED VIEW temporal_filter AS SELECT id, customer FROM visits WHERE at > now() - interval '200 years';
INSERT INTO visits SELECT i, i % 25, timestamptz '2024-02-01 00:00:00+00' + i * interval '1 hour' FROM generate_series(51, 70) i;
UPDATE customers SET name = 'renamed' WHERE id = 3;
UPDATE quotes SET price = price + 1 WHERE sym = 'b';
DELETE FROM quotes WHERE sym = 'c';
CREATE SOURCE readings (sensor bigint, value numeric) WITH (connector = 'file', path = '{files}/*.parquet', format = 'parquet');
CREATE MATERIALIZED VIEW of_source AS SELECT sensor, count(*) AS n, sum(value) AS total FROM readings GROUP BY sensor;
CREATE TYPE mood AS ENUM ('sad', 'fine', 'glad');
ALTER TYPE mood ADD VALUE 'neither' BEFORE 'fine';
CREATE DOMAIN positive AS int DEFAULT 1 CHECK (VALUE > 0);
CREATE TYPE place AS (x int, label text);
CREATE TABLE typed (id int PRIMARY KEY, m mood, p positive, w place, e vector(2), ip inet, b bit(3));
INSERT INTO typed SELECT i, (enum_range(NULL::mood))[1 + i % 4], 1 + i, ROW(i, 'at ' || i)::place, ARRAY[i, 1.5]::vector, '10.0.0.1/8'::inet, B'101' FROM generate_series(1, 20) i;
CREATE MATERIALIZED VIEW of_types AS SELECT m, count(*) AS n, max(p) AS most, max((w).label) AS label, sum(e) AS e FROM typed GROUP BY m;
DELETE FROM typed WHERE m = 'sad';
CREATE FUNCTION with_double(n int) RETURNS TABLE (m int) LANGUAGE sql AS 'SELECT n UNION ALL SELECT n * 2';
CREATE MATERIALIZED VIEW of_function AS SELECT id, t.m FROM typed, LATERAL with_double(p) AS t;
FLUSH
