"""pg_typeof of values of domains, beside a PostgreSQL."""

from __future__ import annotations

from tests.frontend.session.conftest import Client
from tests.frontend.session.histories import differences
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

HISTORY = """
CREATE SCHEMA s
CREATE DOMAIN price AS numeric CHECK (VALUE > 0)
CREATE DOMAIN s.far AS int
CREATE DOMAIN tags AS text[]
CREATE TABLE t (id int PRIMARY KEY, p price, f s.far, ps price[], g tags)
INSERT INTO t VALUES (1, 2, 3, '{4}', '{a}')
CREATE VIEW v AS SELECT p AS q, f + 1 AS h, f FROM t
=SELECT pg_typeof(p)::text, pg_typeof(f)::text, pg_typeof(ps)::text, pg_typeof(g)::text, pg_typeof(id)::text FROM t
=SELECT pg_typeof(q)::text, pg_typeof(h)::text, pg_typeof(f)::text FROM v AS w
=SELECT pg_typeof(1::price)::text, pg_typeof(2::s.far)::text, pg_typeof(1::price + 1)::text, pg_typeof('{}'::tags)::text
=SELECT pg_typeof(a.p)::text FROM t AS a JOIN t AS b USING (id) WHERE pg_typeof(b.f)::text = 's.far'
SET search_path = s, public
=SELECT pg_typeof(f)::text, pg_typeof(p)::text, count(*) FROM t GROUP BY 1, 2
"""


def test_a_history_gives_what_postgresql_gives(client: Client, postgres_oracle: PostgresOracle) -> None:
    assert not differences(client, postgres_oracle, HISTORY)
