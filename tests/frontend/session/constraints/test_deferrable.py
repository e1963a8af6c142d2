"""DEFERRABLE keys of all kinds and SET CONSTRAINTS, beside a PostgreSQL; and the commit of others in between."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client
from tests.frontend.session.histories import differences
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

HISTORY = """
CREATE TABLE p (id int PRIMARY KEY, u int UNIQUE)
CREATE TABLE c (id int PRIMARY KEY, p int CONSTRAINT later REFERENCES p DEFERRABLE INITIALLY DEFERRED)
CREATE TABLE d (id int, u int CONSTRAINT can REFERENCES p (u) DEFERRABLE, n int CONSTRAINT now REFERENCES p)
CREATE TABLE self (id int PRIMARY KEY, up int REFERENCES self INITIALLY DEFERRED)
CREATE TABLE x (id int REFERENCES p NOT DEFERRABLE INITIALLY DEFERRED)
=SELECT conname, condeferrable, condeferred, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' ORDER BY 1
=SELECT constraint_name, is_deferrable, initially_deferred FROM information_schema.table_constraints \
WHERE constraint_name IN ('later', 'can', 'now') ORDER BY 1
INSERT INTO c VALUES (1, 1)
BEGIN
INSERT INTO c VALUES (1, 1), (2, NULL)
INSERT INTO p VALUES (1, 10)
COMMIT
=SELECT * FROM c ORDER BY 1
BEGIN
INSERT INTO c VALUES (3, 3)
COMMIT
=SELECT * FROM c ORDER BY 1
BEGIN
INSERT INTO c VALUES (3, 3)
DELETE FROM c WHERE id = 3
COMMIT
BEGIN
INSERT INTO c VALUES (3, 3)
UPDATE c SET p = 1 WHERE id = 3
COMMIT
BEGIN
DELETE FROM p WHERE id = 1
COMMIT
BEGIN
DELETE FROM p WHERE id = 1
INSERT INTO p VALUES (1, 11)
COMMIT
=SELECT * FROM p
BEGIN
UPDATE p SET id = 2 WHERE id = 1
UPDATE c SET p = 2 WHERE p = 1
COMMIT
=SELECT * FROM c ORDER BY 1
BEGIN
INSERT INTO d VALUES (1, 99, NULL)
ROLLBACK
BEGIN
SET CONSTRAINTS can DEFERRED
INSERT INTO d VALUES (1, 99, NULL)
INSERT INTO p VALUES (9, 99)
COMMIT
=SELECT * FROM d
BEGIN
SET CONSTRAINTS ALL DEFERRED
INSERT INTO d VALUES (2, NULL, 77)
ROLLBACK
BEGIN
SET CONSTRAINTS later IMMEDIATE
INSERT INTO c VALUES (7, 7)
ROLLBACK
BEGIN
INSERT INTO c VALUES (7, 7)
SET CONSTRAINTS later IMMEDIATE
ROLLBACK
BEGIN
INSERT INTO c VALUES (7, 7)
SET CONSTRAINTS can IMMEDIATE
SET CONSTRAINTS ALL IMMEDIATE
ROLLBACK
BEGIN
INSERT INTO c VALUES (7, 2)
SET CONSTRAINTS ALL IMMEDIATE
SET CONSTRAINTS ALL DEFERRED
COMMIT
BEGIN
SET CONSTRAINTS now DEFERRED
ROLLBACK
BEGIN
SET CONSTRAINTS nothing DEFERRED
ROLLBACK
BEGIN
SET CONSTRAINTS nowhere.later DEFERRED
ROLLBACK
SET CONSTRAINTS ALL DEFERRED
BEGIN
SAVEPOINT s
INSERT INTO c VALUES (8, 8)
ROLLBACK TO s
COMMIT
BEGIN
SAVEPOINT s
SET CONSTRAINTS ALL DEFERRED
ROLLBACK TO s
INSERT INTO d VALUES (8, 88, NULL)
ROLLBACK
BEGIN
SET CONSTRAINTS ALL DEFERRED
SAVEPOINT s
SET CONSTRAINTS can IMMEDIATE
SAVEPOINT s2
SET CONSTRAINTS ALL IMMEDIATE
ROLLBACK TO s
INSERT INTO d VALUES (8, 88, NULL)
SAVEPOINT s3
INSERT INTO p VALUES (88, 88)
SET CONSTRAINTS ALL IMMEDIATE
ROLLBACK TO s3
COMMIT
=SELECT * FROM d
INSERT INTO self VALUES (1, 2), (2, 1)
INSERT INTO self VALUES (3, 4)
BEGIN
INSERT INTO self VALUES (3, 4)
INSERT INTO self VALUES (4, 3)
COMMIT
DELETE FROM self
ALTER TABLE c DROP CONSTRAINT later
ALTER TABLE c ADD CONSTRAINT again FOREIGN KEY (p) REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED
=SELECT * FROM c ORDER BY 1
"""

UNIQUE = """
CREATE TABLE t (id int PRIMARY KEY, u int CONSTRAINT later UNIQUE DEFERRABLE INITIALLY DEFERRED, \
n int CONSTRAINT now UNIQUE)
CREATE TABLE e (a int, b text, CONSTRAINT can UNIQUE NULLS NOT DISTINCT (a, b) DEFERRABLE)
CREATE TABLE x (a int UNIQUE NOT DEFERRABLE INITIALLY DEFERRED)
CREATE TABLE x (a int UNIQUE DEFERRABLE, b int REFERENCES t (u))
CREATE TABLE x (a int UNIQUE DEFERRABLE, b int REFERENCES x (a))
CREATE TABLE l (LIKE t INCLUDING INDEXES)
=SELECT conname, condeferrable, condeferred, pg_get_constraintdef(oid) FROM pg_constraint \
WHERE contype = 'u' AND connamespace = 'public'::regnamespace ORDER BY 1
=SELECT constraint_name, is_deferrable, initially_deferred FROM information_schema.table_constraints \
WHERE constraint_name IN ('later', 'can', 'now') ORDER BY 1
=SELECT indexrelid::regclass::text, indimmediate FROM pg_index WHERE indrelid = 't'::regclass ORDER BY 1
INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, NULL, NULL), (4, NULL, NULL)
INSERT INTO t VALUES (5, 1, 5)
INSERT INTO t VALUES (5, 5, 1)
INSERT INTO t VALUES (5, 5, 5) ON CONFLICT (u) DO NOTHING
INSERT INTO t VALUES (5, 5, 5) ON CONFLICT ON CONSTRAINT later DO NOTHING
INSERT INTO t VALUES (5, 5, 5) ON CONFLICT DO NOTHING
INSERT INTO t VALUES (5, 5, 5) ON CONFLICT (n) DO NOTHING
BEGIN
UPDATE t SET u = 2 WHERE id = 1
=SELECT * FROM t ORDER BY id
UPDATE t SET u = 1 WHERE id = 2
COMMIT
=SELECT * FROM t ORDER BY id
UPDATE t SET u = 3 - u WHERE id < 3
=SELECT * FROM t ORDER BY id
BEGIN
INSERT INTO t VALUES (6, 1, 6)
COMMIT
=SELECT * FROM t ORDER BY id
BEGIN
INSERT INTO t VALUES (6, 1, 6)
DELETE FROM t WHERE id = 1
COMMIT
=SELECT * FROM t ORDER BY id
BEGIN
INSERT INTO t VALUES (7, 1, 7)
SAVEPOINT s
DELETE FROM t WHERE id = 6
ROLLBACK TO s
COMMIT
BEGIN
INSERT INTO t VALUES (7, 1, 7)
SET CONSTRAINTS later IMMEDIATE
ROLLBACK
BEGIN
SET CONSTRAINTS later IMMEDIATE
INSERT INTO t VALUES (7, 1, 7)
ROLLBACK
BEGIN
INSERT INTO t VALUES (7, 1, 7)
INSERT INTO t VALUES (8, 8, 2)
ROLLBACK
BEGIN
SET CONSTRAINTS now DEFERRED
ROLLBACK
INSERT INTO e VALUES (1, NULL), (2, 'b'), (NULL, NULL)
INSERT INTO e VALUES (NULL, NULL)
BEGIN
SET CONSTRAINTS ALL DEFERRED
INSERT INTO e VALUES (1, NULL), (2, 'b')
UPDATE e SET a = 3 WHERE b IS NULL AND a = 1
COMMIT
BEGIN
SET CONSTRAINTS can DEFERRED
INSERT INTO e VALUES (2, 'b')
SET CONSTRAINTS can IMMEDIATE
ROLLBACK
BEGIN
SET CONSTRAINTS can DEFERRED
INSERT INTO e VALUES (1, NULL)
DELETE FROM e WHERE a = 1
COMMIT
=SELECT * FROM e ORDER BY a, b
WITH gone AS (DELETE FROM e WHERE a = 2 RETURNING *) INSERT INTO e SELECT * FROM gone
=SELECT * FROM e ORDER BY a, b
ALTER TABLE e DROP CONSTRAINT can
INSERT INTO e VALUES (2, 'b')
ALTER TABLE e ADD CONSTRAINT again UNIQUE (a, b) DEFERRABLE INITIALLY DEFERRED
DELETE FROM e WHERE a = 2
ALTER TABLE e ADD CONSTRAINT again UNIQUE (a, b) DEFERRABLE INITIALLY DEFERRED
BEGIN
INSERT INTO e VALUES (9, 'z'), (9, 'z')
COMMIT
"""

PRIMARY = """
CREATE TABLE t (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, n int)
CREATE TABLE e (a int, b text, v int, CONSTRAINT pair PRIMARY KEY (a, b) DEFERRABLE)
CREATE TABLE i (a int PRIMARY KEY NOT DEFERRABLE INITIALLY IMMEDIATE NOT NULL)
CREATE TABLE x (a int PRIMARY KEY NOT DEFERRABLE INITIALLY DEFERRED)
CREATE TABLE x (a int PRIMARY KEY DEFERRABLE, b int PRIMARY KEY)
CREATE TABLE x (a int PRIMARY KEY DEFERRABLE, b int, PRIMARY KEY (b) DEFERRABLE)
CREATE TABLE x (a int, PRIMARY KEY (nothing) DEFERRABLE)
CREATE TABLE x (a int, PRIMARY KEY (a, a) DEFERRABLE)
CREATE TABLE x (a int REFERENCES t)
CREATE TABLE x (a int REFERENCES t (id))
CREATE TABLE x (a int PRIMARY KEY DEFERRABLE, b int REFERENCES x)
CREATE TABLE l (LIKE t INCLUDING ALL)
=SELECT conname, contype, condeferrable, condeferred, pg_get_constraintdef(oid), conkey::text FROM pg_constraint \
WHERE connamespace = 'public'::regnamespace
=SELECT constraint_name, constraint_type, is_deferrable, initially_deferred FROM information_schema.table_constraints \
WHERE constraint_schema = 'public' AND constraint_type = 'PRIMARY KEY'
=SELECT indexrelid::regclass::text, indisprimary, indisunique, indimmediate, pg_get_indexdef(indexrelid) FROM pg_index \
WHERE indrelid IN ('t'::regclass, 'e'::regclass, 'l'::regclass)
=SELECT attrelid::regclass::text, attname, attnotnull FROM pg_attribute WHERE attnum > 0 AND attrelid IN \
('t'::regclass, 'e'::regclass, 'l'::regclass)
=SELECT table_name, column_name, ordinal_position FROM information_schema.key_column_usage \
WHERE constraint_schema = 'public'
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)
INSERT INTO t VALUES (1, 11)
INSERT INTO t VALUES (NULL, 11)
INSERT INTO t VALUES (4, 4) ON CONFLICT DO NOTHING
INSERT INTO t VALUES (4, 4) ON CONFLICT (id) DO UPDATE SET n = 1
INSERT INTO t VALUES (4, 4) ON CONFLICT ON CONSTRAINT t_pkey DO NOTHING
BEGIN
UPDATE t SET id = 2 WHERE n = 10
=SELECT * FROM t
UPDATE t SET id = 1 WHERE n = 20
COMMIT
=SELECT * FROM t
UPDATE t SET id = 4 - id
=SELECT * FROM t
BEGIN
INSERT INTO t VALUES (1, 99)
COMMIT
BEGIN
INSERT INTO t VALUES (1, 99)
SET CONSTRAINTS t_pkey IMMEDIATE
ROLLBACK
BEGIN
INSERT INTO t VALUES (1, 99)
DELETE FROM t WHERE id = 1 AND n <> 99
COMMIT
=SELECT * FROM t
SELECT n FROM t GROUP BY id
INSERT INTO e VALUES (1, 'x', 1), (2, 'y', 2)
INSERT INTO e VALUES (1, 'x', 3)
UPDATE e SET a = 3 - a, b = CASE b WHEN 'x' THEN 'y' ELSE 'x' END
=SELECT * FROM e
BEGIN
SET CONSTRAINTS pair DEFERRED
INSERT INTO e VALUES (1, 'x', 3)
UPDATE e SET a = 9 WHERE v = 3
COMMIT
=SELECT * FROM e
ALTER TABLE e ALTER COLUMN a DROP NOT NULL
ALTER TABLE e ADD PRIMARY KEY (v)
ALTER TABLE e ADD PRIMARY KEY (v) DEFERRABLE
DROP INDEX pair
ALTER TABLE e DROP CONSTRAINT pair
INSERT INTO e VALUES (1, 'x', NULL), (1, 'x', 5)
ALTER TABLE e ADD CONSTRAINT again PRIMARY KEY (v) DEFERRABLE INITIALLY DEFERRED
DELETE FROM e WHERE v IS NULL
ALTER TABLE e ADD CONSTRAINT again PRIMARY KEY (a, b) DEFERRABLE
ALTER TABLE e ADD CONSTRAINT again PRIMARY KEY (nothing) DEFERRABLE
ALTER TABLE e ADD CONSTRAINT again PRIMARY KEY (v) DEFERRABLE INITIALLY DEFERRED
INSERT INTO e VALUES (7, 'q', 5)
=SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'again'
=SELECT attname, attnotnull FROM pg_attribute WHERE attnum > 0 AND attrelid = 'e'::regclass
ALTER TABLE e RENAME CONSTRAINT again TO renamed
ALTER TABLE e DROP COLUMN v
INSERT INTO e VALUES (9, 'z'), (9, 'z')
ALTER TABLE i ADD COLUMN k int PRIMARY KEY DEFERRABLE
"""


@pytest.mark.parametrize("history", [HISTORY, UNIQUE, PRIMARY], ids=["foreign", "unique", "primary"])
def test_a_history_gives_what_postgresql_gives(client: Client, postgres_oracle: PostgresOracle, history: str) -> None:
    assert not differences(client, postgres_oracle, history)


def test_rows_that_others_commit_count(connect: Callable[[], Client]) -> None:
    one, other = connect(), connect()
    one.run("CREATE TABLE p (id int PRIMARY KEY)")
    one.run("CREATE TABLE c (p int REFERENCES p DEFERRABLE INITIALLY DEFERRED)")
    one.run("BEGIN")
    one.run("INSERT INTO c VALUES (1)")
    other.run("INSERT INTO p VALUES (1)")
    one.run("COMMIT")
    assert one.run("SELECT count(*) FROM c") == [(1,)]


@pytest.mark.parametrize("rows", [1, 20_000])
def test_a_refused_commit_leaves_nothing(client: Client, rows: int) -> None:
    client.run("CREATE TABLE p (id int PRIMARY KEY)")
    client.run("CREATE TABLE c (id int PRIMARY KEY, p int CONSTRAINT k REFERENCES p DEFERRABLE INITIALLY DEFERRED)")
    client.run("INSERT INTO p SELECT * FROM generate_series(2, 20000)")
    client.run("BEGIN")
    client.run(f"INSERT INTO c SELECT n, n FROM generate_series(1, {rows}) n")
    with pytest.raises(SqlError, match='"c" violates foreign key constraint "k"') as refused:
        client.run("COMMIT")
    assert (refused.value.sqlstate, refused.value.detail) == ("23503", 'Key (p)=(1) is not present in table "p".')
    assert client.status == b"I"
    assert client.run("SELECT count(*) FROM c") == [(0,)]
    client.run("INSERT INTO c VALUES (1, 2)")


@pytest.mark.parametrize("rows", [3, 500])
def test_views_and_later_sessions_have_keys_that_were_exchanged(connect: Callable[[], Client], rows: int) -> None:
    one, other = connect(), connect()
    one.run("CREATE TABLE t (id int PRIMARY KEY, u int UNIQUE DEFERRABLE INITIALLY DEFERRED, v int)")
    one.run("CREATE MATERIALIZED VIEW m AS SELECT u, count(*) AS n FROM t GROUP BY u")
    one.run(f"INSERT INTO t SELECT n, n, 0 FROM generate_series(1, {rows}) n")
    for _ in range(2):
        one.run("BEGIN")
        one.run(f"UPDATE t SET u = u % {rows} + 1 WHERE id = 1")
        for key in range(2, rows + 1) if rows < 10 else ():
            one.run(f"UPDATE t SET u = u % {rows} + 1 WHERE id = {key}")
        one.run(f"UPDATE t SET u = u % {rows} + 1 WHERE id > 1") if rows >= 10 else None
        one.run("COMMIT")
    assert other.run("SELECT count(*), max(n), sum(u) FROM m") == [(rows, 1, rows * (rows + 1) // 2)]
    assert other.run("SELECT u FROM t WHERE id = 1") == [(3,)]
    with pytest.raises(SqlError, match='violates unique constraint "t_u_key"') as refused:
        other.run("INSERT INTO t VALUES (0, 1, 0)")
    assert refused.value.sqlstate == "23505"
    other.run("UPDATE t SET v = 1 WHERE id = 1")
    assert other.run("SELECT count(*) FROM t WHERE v = 1") == [(1,)]
