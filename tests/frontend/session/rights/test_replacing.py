"""Who may replace a materialized view, stop its creation, and make one that reads by WITH RECURSIVE."""

from __future__ import annotations

import pytest

from tests.frontend.session.rights.test_privileges import DENIED, Users, refused
from tests.frontend.session.rights.test_privileges import users as users

NOT_OWNER = "42501", "must be owner of materialized view m"


@pytest.fixture
def view(users: Users) -> Users:
    users["alice"].run("CREATE MATERIALIZED VIEW m AS SELECT a FROM t; GRANT ALL ON m TO bob")
    users["root"].run("GRANT CREATE ON SCHEMA public TO bob")
    return users


def test_only_the_owner_replaces_a_view(view: Users) -> None:
    bob, alice = view["bob"], view["alice"]
    assert refused(bob, "CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT 1 AS a") == NOT_OWNER
    assert refused(bob, "CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT b FROM t") in (NOT_OWNER, DENIED)
    assert alice.run("SELECT * FROM m") == [(1,)]
    alice.run("GRANT SELECT ON t TO bob")
    assert refused(bob, "CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT b FROM t") == NOT_OWNER
    view["root"].run("ALTER MATERIALIZED VIEW m OWNER TO bob; REVOKE SELECT ON t FROM bob")
    assert refused(bob, "CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT b FROM t") == DENIED
    bob.run("CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT 7 AS a")
    assert bob.run("SELECT * FROM m") == [(7,)]
    view["root"].run("REVOKE CREATE ON SCHEMA public FROM bob")
    schema = "42501", "permission denied for schema public"
    assert refused(bob, "CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT 8 AS a") == schema


def test_a_recursion_reads_with_its_authors_rights(view: Users) -> None:
    bob = view["bob"]
    query = "WITH RECURSIVE r (n) AS ({}) SELECT n FROM r"
    for steps in (
        "SELECT a FROM t UNION SELECT n + 1 FROM r WHERE n < 3",
        "SELECT 1 UNION SELECT t.a FROM r JOIN t ON t.a > r.n",
        "SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < (SELECT max(b) FROM t)",
    ):
        for create in ("", "CREATE MATERIALIZED VIEW r1 AS ", "CREATE TABLE r1 AS ", "EXPLAIN "):
            assert refused(bob, create + query.format(steps)) == DENIED, (create, steps)
        bob.run(f"CREATE VIEW r1 AS {query.format(steps)}")
        assert refused(view["root"], "SELECT * FROM r1") == DENIED  # its owner may not read what it reads
        bob.run("DROP VIEW r1")
    assert bob.run("SELECT count(*) FROM pg_class WHERE relname = 'r1'") == [(0,)]


CHANGES = ("ALTER MATERIALIZED VIEW slow SET BACKFILL_RATE_LIMIT = DEFAULT", "CANCEL JOBS {id}")


@pytest.mark.parametrize("change", CHANGES)
def test_jobs_of_others_are_their_owners(users: Users, change: str) -> None:
    alice, bob = users["alice"], users["bob"]
    alice.run("SET background_ddl = true; SET backfill_rate_limit = 0")
    alice.run("CREATE MATERIALIZED VIEW slow AS SELECT a FROM t")
    [(job_id,)] = alice.run("SELECT ddl_id FROM rw_catalog.rw_ddl_progress")
    sql = change.format(id=job_id)
    assert refused(bob, sql) == ("42501", "must be owner of materialized view slow")
    users["root"].run("GRANT alice TO bob")
    bob.run(sql)
