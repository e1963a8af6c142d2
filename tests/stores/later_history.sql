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
FLUSH
