"""Temporary tables, views and sequences of one session, beside a PostgreSQL: the same rows, and the same errors."""

from __future__ import annotations

from tests.frontend.session.conftest import Client
from tests.frontend.session.histories import differences
from tests.postgres_oracle import PostgresOracle

HISTORY = """
=SELECT pg_my_temp_schema()
CREATE TABLE t (a int)
INSERT INTO t VALUES (1)
CREATE VIEW lasting AS SELECT * FROM t
CREATE TEMP TABLE t (a int PRIMARY KEY, b text DEFAULT 'x')
=SELECT * FROM t
INSERT INTO t VALUES (5), (6)
UPDATE t SET b = 'y' WHERE a = 6
DELETE FROM t WHERE a = 5
=SELECT * FROM t
=SELECT * FROM public.t
=SELECT * FROM pg_temp.t
=SELECT * FROM lasting
CREATE TEMP TABLE t (a int)
CREATE TEMP TABLE IF NOT EXISTS t (a int)
CREATE TABLE t (a int)
=SELECT 't'::regclass::text, 'pg_temp.t'::regclass::text, 'public.t'::regclass::text
=SELECT relname, relkind, relpersistence FROM pg_class WHERE relnamespace = pg_my_temp_schema()
=SELECT relname FROM pg_class WHERE relname = 't' AND pg_table_is_visible(oid) AND relpersistence = 't'
=SELECT current_schema(), pg_is_other_temp_schema(pg_my_temp_schema()), pg_is_other_temp_schema(NULL)
=SELECT left(unnest(current_schemas(true))::text, 8) EXCEPT SELECT 'rw_catal'
=SELECT unnest(current_schemas(false))
=SELECT table_name, table_type FROM information_schema.tables WHERE table_schema LIKE 'pg_temp%'
=SELECT tablename FROM pg_tables WHERE schemaname LIKE 'pg_temp%'
CREATE TEMPORARY TABLE nowhere.q (a int)
CREATE TEMP TABLE public.q (a int)
CREATE TABLE pg_temp.q (a int)
=SELECT relpersistence FROM pg_class WHERE oid = 'q'::regclass
DROP TABLE pg_temp.q
CREATE TABLE q (a int) ON COMMIT DROP
CREATE LOCAL TEMP TABLE l (a int) ON COMMIT PRESERVE ROWS
CREATE GLOBAL TEMPORARY TABLE g (a int)
CREATE TEMP TABLE wrong (a int) ON COMMIT
CREATE TEMP TABLE wrong (a int) ON COMMIT KEEP ROWS
CREATE OR REPLACE TEMP TABLE wrong (a int)
CREATE TEMP SCHEMA wrong
CREATE TEMP TABLE at_once (a int) ON COMMIT DROP
=SELECT * FROM at_once
CREATE TEMP TABLE emptied (a int) ON COMMIT DELETE ROWS
INSERT INTO emptied VALUES (1)
=SELECT * FROM emptied
BEGIN
INSERT INTO emptied SELECT a FROM t
=SELECT * FROM emptied
INSERT INTO public.t SELECT a FROM emptied
CREATE TEMP TABLE dropped (a int, b int) ON COMMIT DROP
INSERT INTO dropped VALUES (1, 2)
=SELECT * FROM dropped
COMMIT
=SELECT * FROM emptied
=SELECT * FROM public.t
=SELECT * FROM dropped
BEGIN
CREATE TEMP TABLE undone AS SELECT a FROM t
INSERT INTO undone VALUES (77)
CREATE TEMP TABLE of_own AS SELECT * FROM undone
=SELECT * FROM of_own
SAVEPOINT s
CREATE TEMP TABLE later (a int)
ROLLBACK TO s
=SELECT * FROM later
ROLLBACK TO s
=SELECT * FROM undone
ROLLBACK
=SELECT * FROM undone
BEGIN
CREATE TEMP TABLE filled ON COMMIT DELETE ROWS AS SELECT a FROM t
=SELECT * FROM filled
COMMIT
=SELECT * FROM filled
BEGIN
CREATE TEMP TABLE staged (a int)
INSERT INTO staged VALUES (41)
INSERT INTO emptied VALUES (42)
INSERT INTO public.t SELECT a FROM staged UNION SELECT a FROM emptied
DROP TABLE staged, emptied
CREATE TEMP TABLE staged (b text)
INSERT INTO staged VALUES ('new')
=SELECT * FROM staged
COMMIT
=SELECT * FROM staged
=SELECT * FROM emptied
=SELECT * FROM public.t
CREATE TEMP TABLE copied ON COMMIT PRESERVE ROWS AS SELECT * FROM t
=SELECT * FROM copied
CREATE TEMP TABLE named (x, y) AS SELECT * FROM t WITH NO DATA
=SELECT x, y FROM named
SELECT a AS z INTO TEMP made FROM t
SELECT a AS z INTO TEMPORARY TABLE made2 FROM t
=SELECT z FROM made UNION ALL SELECT z FROM made2
CREATE TEMP VIEW v AS SELECT a + 1 AS n FROM t
=SELECT * FROM v
CREATE VIEW w AS SELECT n FROM v
=SELECT relname, relpersistence FROM pg_class WHERE relname IN ('v', 'w', 'lasting')
CREATE VIEW public.x AS SELECT * FROM v
DROP VIEW w
CREATE OR REPLACE TEMP VIEW v AS SELECT a + 2 AS n FROM t
CREATE MATERIALIZED VIEW m AS SELECT * FROM v
CREATE TEMP MATERIALIZED VIEW m AS SELECT 1
DROP TABLE t
DROP TABLE t CASCADE
=SELECT * FROM v
=SELECT * FROM t
CREATE TEMP SEQUENCE s
=SELECT nextval('s'), nextval('pg_temp.s')
CREATE TEMP TABLE parent (id serial PRIMARY KEY, n int UNIQUE)
CREATE TEMP TABLE child (p int REFERENCES parent)
INSERT INTO child VALUES (1)
INSERT INTO parent (n) VALUES (4)
INSERT INTO child VALUES (1)
DELETE FROM parent
CREATE TABLE child2 (p int REFERENCES parent)
CREATE TABLE lasts (id int PRIMARY KEY)
CREATE TEMP TABLE child3 (p int REFERENCES lasts)
CREATE TEMP TABLE child4 (p int REFERENCES parent) ON COMMIT DELETE ROWS
CREATE TEMP TABLE p5 (id int PRIMARY KEY) ON COMMIT DELETE ROWS
CREATE TEMP TABLE c5 (id int REFERENCES p5)
INSERT INTO p5 VALUES (1)
DROP TABLE c5
CREATE INDEX on_n ON parent (n, id)
=SELECT indexname FROM pg_indexes WHERE tablename = 'parent'
ALTER TABLE parent ADD COLUMN more int DEFAULT 3
ALTER TABLE parent RENAME TO parents
=SELECT * FROM parents
ALTER TABLE parents SET SCHEMA public
ALTER TABLE lasts SET SCHEMA pg_temp
COMMENT ON TABLE pg_temp.parents IS 'gone soon'
=SELECT obj_description('parents'::regclass)
TRUNCATE parents CASCADE
=SELECT * FROM child
SET search_path = pg_temp, public
CREATE TABLE by_path (a int)
=SELECT relpersistence FROM pg_class WHERE relname = 'by_path'
=SELECT left(current_schema(), 8)
RESET search_path
SET search_path = public, pg_temp
CREATE TEMP TABLE lasting2 (a int)
CREATE TABLE lasting2 (b int)
=SELECT * FROM lasting2
INSERT INTO lasting2 (b) VALUES (1)
RESET search_path
INSERT INTO lasting2 (a) VALUES (1)
DISCARD TEMP
=SELECT relname FROM pg_class WHERE relpersistence = 't' AND relnamespace = pg_my_temp_schema()
=SELECT * FROM parents
=SELECT * FROM lasting2
CREATE TEMP TABLE again (a int)
DISCARD ALL
=SELECT * FROM again
"""


def test_a_session_has_temporary_relations_as_in_postgres(client: Client, postgres_oracle: PostgresOracle) -> None:
    found = differences(client, postgres_oracle, HISTORY)
    assert found == [], "\n".join(map(str, found))
