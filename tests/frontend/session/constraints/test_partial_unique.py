"""Unique indexes with WHERE and on expressions, beside a PostgreSQL: what they refuse, ON CONFLICT, catalogs, ALTER."""

from __future__ import annotations

import pytest

from tests.frontend.session.conftest import Client
from tests.frontend.session.histories import differences
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

REFUSED = """
CREATE TABLE t (id int PRIMARY KEY, name text, deleted bool NOT NULL DEFAULT false, n int)
INSERT INTO t VALUES (1, 'a', false, 1), (2, 'a', true, 2), (3, 'b', false, NULL), (4, 'a', true, 9)
CREATE UNIQUE INDEX live ON t (name) WHERE NOT deleted
CREATE UNIQUE INDEX too_many ON t (name) WHERE deleted
CREATE UNIQUE INDEX positive ON t ((n % 10)) WHERE n > 0
=SELECT * FROM t
INSERT INTO t VALUES (5, 'a', false, NULL)
INSERT INTO t VALUES (5, 'a', true, NULL)
INSERT INTO t VALUES (6, 'c', false, 11)
INSERT INTO t VALUES (6, 'c', false, -9)
INSERT INTO t VALUES (7, 'd', false, 3), (8, 'd', true, 4), (9, 'd', true, 5)
INSERT INTO t VALUES (17, 'e', false, 6), (18, 'e', false, 7)
UPDATE t SET deleted = false WHERE id = 2
UPDATE t SET deleted = false WHERE id = 9
UPDATE t SET deleted = true WHERE id = 1
UPDATE t SET deleted = false WHERE id = 2
UPDATE t SET name = 'b' WHERE id = 2
DELETE FROM t WHERE id = 3
UPDATE t SET name = 'b' WHERE id = 2
BEGIN
DELETE FROM t WHERE id = 2
INSERT INTO t VALUES (2, 'b', false, 2)
INSERT INTO t VALUES (3, 'b', true, NULL)
UPDATE t SET deleted = NOT deleted WHERE id = 3
COMMIT
=SELECT * FROM t
UPDATE t SET n = 8 WHERE id = 1
=SELECT * FROM t
=SELECT id FROM t WHERE name = 'b' AND NOT deleted
=SELECT id FROM t WHERE name = 'b'
=SELECT id FROM t WHERE name = 'a' AND NOT deleted AND id > 0
=SELECT id FROM t WHERE n % 10 = 2 AND n > 1
DROP INDEX live
INSERT INTO t VALUES (20, 'b', false, NULL)
CREATE UNIQUE INDEX live ON t (name) WHERE NOT deleted
"""

CONFLICTS = """
CREATE TABLE t (id int PRIMARY KEY, email text, active bool, n int)
CREATE UNIQUE INDEX by_email ON t (lower(email)) WHERE active
CREATE UNIQUE INDEX of_n ON t (n) WHERE n > 10
INSERT INTO t VALUES (1, 'A@x', true, 1), (2, 'a@x', false, 1), (3, 'B@x', NULL, 11)
INSERT INTO t VALUES (4, 'a@X', true, 1)
INSERT INTO t VALUES (4, 'a@X', true, 1) ON CONFLICT DO NOTHING
INSERT INTO t VALUES (4, 'a@X', true, 1) ON CONFLICT (lower(email)) WHERE active DO NOTHING
INSERT INTO t VALUES (4, 'a@X', true, 1) ON CONFLICT (lower(email)) DO NOTHING
INSERT INTO t VALUES (4, 'a@X', true, 1) ON CONFLICT (email) WHERE active DO NOTHING
INSERT INTO t VALUES (4, 'a@X', true, 1) ON CONFLICT (upper(email)) WHERE active DO NOTHING
INSERT INTO t VALUES (4, 'a@X', true, 1) ON CONFLICT (lower(email)) WHERE active AND id > 0 DO NOTHING
INSERT INTO t VALUES (4, 'a@X', true, 1) ON CONFLICT (lower(email)) WHERE id > 0 DO NOTHING
INSERT INTO t VALUES (4, 'a@X', true, 1) ON CONFLICT (nothing) WHERE id > 0 DO NOTHING
INSERT INTO t VALUES (4, 'a@X', true, 1) ON CONFLICT (n) WHERE nothing > 0 DO NOTHING
INSERT INTO t VALUES (4, 'a@X', true, 1) ON CONFLICT (n) WHERE n > 5 DO NOTHING
INSERT INTO t VALUES (4, 'a@X', true, 1) ON CONFLICT ON CONSTRAINT of_n DO NOTHING
=SELECT * FROM t
INSERT INTO t VALUES (4, 'a@X', true, 5) ON CONFLICT (lower(email)) WHERE active DO UPDATE \
SET n = t.n + excluded.n, email = excluded.email
=SELECT * FROM t
INSERT INTO t VALUES (4, 'a@X', false, 5), (5, 'b@x', true, 6), (6, 'c@x', true, 11) \
ON CONFLICT (n) WHERE n > 12 DO UPDATE SET id = excluded.id
INSERT INTO t VALUES (6, 'c@x', true, 11), (7, 'd@x', true, 11) ON CONFLICT (n) WHERE n > 12 DO NOTHING
INSERT INTO t VALUES (16, 'c@x', true, 21), (17, 'd@x', true, 21) ON CONFLICT (n) WHERE n = 21 DO NOTHING
INSERT INTO t VALUES (26, 'e@x', true, 31), (27, 'f@x', true, 31) ON CONFLICT (n) WHERE n = 31 DO UPDATE SET n = 32
INSERT INTO t VALUES (26, 'e@x', true, 1), (27, 'f@x', true, 1) ON CONFLICT (n) WHERE n = 31 DO UPDATE SET n = 32
=SELECT * FROM t
INSERT INTO t VALUES (40, 'A@X', true, 21), (41, 'q@x', true, 41), (42, 'Q@x', true, 42), (43, 'z', true, 41) \
ON CONFLICT DO NOTHING
INSERT INTO t VALUES (51, 'y@x', true, 1), (52, 'Y@x', false, 1), (53, 'y@x', true, 1), (54, 'y@x', false, 1) \
ON CONFLICT (lower(email)) WHERE active DO NOTHING
=SELECT * FROM t
CREATE TABLE s (a int, b int)
CREATE UNIQUE INDEX only ON s (a) NULLS NOT DISTINCT WHERE b > 0
INSERT INTO s VALUES (NULL, 1), (NULL, 0), (NULL, NULL), (1, 0), (1, 1)
INSERT INTO s VALUES (NULL, 2)
INSERT INTO s VALUES (NULL, 0), (NULL, 0), (NULL, 3), (2, 4), (2, 5) ON CONFLICT DO NOTHING
INSERT INTO s VALUES (NULL, 0), (NULL, 7) ON CONFLICT (a) WHERE b > 0 DO UPDATE SET b = excluded.b
=SELECT * FROM s
CREATE TABLE twofold (a int, b int)
CREATE UNIQUE INDEX partly ON twofold (a) WHERE b > 0
CREATE UNIQUE INDEX wholly ON twofold (a)
INSERT INTO twofold VALUES (1, 0)
INSERT INTO twofold VALUES (1, 1) ON CONFLICT (a) DO NOTHING
INSERT INTO twofold VALUES (1, 1) ON CONFLICT (a) WHERE b > 0 DO UPDATE SET b = 9
=SELECT * FROM twofold
"""

CATALOGS = """
CREATE TABLE t (id int PRIMARY KEY, name text, deleted bool, n int, s text DEFAULT 'x')
CREATE UNIQUE INDEX a ON t (name) WHERE NOT deleted
CREATE UNIQUE INDEX b ON t (lower(name), n DESC, (n + 1), lower(s)) NULLS NOT DISTINCT WHERE (n > 0 AND s IS NOT NULL)
CREATE INDEX c ON t (n) WHERE name IN ('x', 'y') OR deleted
CREATE INDEX ON t (n) WHERE deleted
=SELECT indexrelid::regclass::text, indisunique, indkey::text, indexprs IS NULL, pg_get_expr(indpred, indrelid) \
FROM pg_index WHERE indrelid = 't'::regclass
=SELECT pg_get_indexdef(indexrelid), pg_get_indexdef(indexrelid, 1, true) FROM pg_index WHERE indrelid = 't'::regclass
=SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 't'
=SELECT conname FROM pg_constraint WHERE conrelid = 't'::regclass
CREATE TABLE l (LIKE t INCLUDING INDEXES)
=SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'l'::regclass
ALTER TABLE t RENAME COLUMN deleted TO gone
ALTER TABLE t RENAME COLUMN name TO "The Name"
=SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 't'::regclass
INSERT INTO t VALUES (1, 'a', false, 1), (2, 'a', NULL, 1)
INSERT INTO t VALUES (3, 'a', false, 2)
ALTER TABLE t DROP COLUMN gone CASCADE
=SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 't'::regclass
INSERT INTO t VALUES (4, 'a', 2)
CREATE TABLE r (a int, b int, k int REFERENCES t (n))
CREATE INDEX ON t (n) WHERE nothing
CREATE INDEX ON t (n) WHERE n
CREATE INDEX ON t (n) WHERE n > random()
CREATE INDEX ON t (n) WHERE now() > '2020-01-01'
CREATE INDEX ON t (n) WHERE n > (SELECT 1)
CREATE INDEX ON t (n) WHERE count(*) > 1
CREATE INDEX ON t (n) WHERE
"""


@pytest.mark.parametrize("history", [REFUSED, CONFLICTS, CATALOGS], ids=["refused", "conflicts", "catalogs"])
def test_a_history_gives_what_postgresql_gives(client: Client, postgres_oracle: PostgresOracle, history: str) -> None:
    assert not differences(client, postgres_oracle, history)
