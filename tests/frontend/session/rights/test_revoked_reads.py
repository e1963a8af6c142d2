"""What goes on for long, a SUBSCRIBE or a cursor of a subscription, ends with the right to read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import islice

import pyarrow as pa
import pytest

from risingpy.errors import InsufficientPrivilege
from risingpy.meta.database import Database
from risingpy.plan.catalog import is_temporary
from tests.frontend.session.conftest import Client
from tests.frontend.session.rights.test_privileges import Users, refused
from tests.frontend.session.rights.test_privileges import users as users

pytestmark = pytest.mark.timeout(60)
DENIED = "42501", "permission denied for subscription s"


def begun(client: Client, sql: str) -> Iterator[pa.RecordBatch]:
    """The batches with rows of an endless result."""
    [statement] = client.session.split(sql)
    batches = client.session.execute(client.session.prepare(statement, ()), ()).batches
    assert batches is not None
    return (batch for batch in batches if batch.num_rows)


def values(batches: Iterator[pa.RecordBatch], count: int) -> list[object]:
    """The first columns of what follows, after the change's number and word."""
    rows = (row for batch in batches for row in batch.column(2).to_pylist())
    return list(islice(rows, count))


def test_each_fetch_asks_again(users: Users) -> None:
    alice, bob = users["alice"], users["bob"]
    alice.run("CREATE SUBSCRIPTION s FROM t WITH (retention = '1 day'); GRANT SELECT ON s TO bob")
    bob.run("DECLARE c SUBSCRIPTION CURSOR FOR s FULL")
    alice.run("INSERT INTO t VALUES (2, 20); FLUSH")
    assert [row[0] for row in bob.run("FETCH NEXT FROM c")] == [1]
    alice.run("REVOKE SELECT ON s FROM bob")
    assert refused(bob, "FETCH NEXT FROM c") == DENIED
    assert refused(bob, "FETCH 10 FROM c") == DENIED
    alice.run("GRANT SELECT ON s TO team; REVOKE SELECT ON t FROM PUBLIC")
    assert refused(bob, "FETCH NEXT FROM c") == DENIED
    users["root"].run("GRANT team TO bob")
    assert [row[0] for row in bob.run("FETCH NEXT FROM c")] == [2]  # a refused FETCH has not passed it


def test_a_fetch_that_waits_gets_nothing_that_came_after_the_revoke(users: Users) -> None:
    alice, bob = users["alice"], users["bob"]
    alice.run("CREATE SUBSCRIPTION s FROM t WITH (retention = '1 day'); GRANT SELECT ON s TO bob")
    bob.run("DECLARE c SUBSCRIPTION CURSOR FOR s")
    found: list[object] = []
    waiting = threading.Thread(target=lambda: found.append(refused(bob, "FETCH NEXT FROM c WITH (timeout = '50s')")))
    waiting.start()
    alice.run("REVOKE SELECT ON s FROM bob")
    alice.run("INSERT INTO t VALUES (2, 20); FLUSH")
    waiting.join()
    assert found == [DENIED]


@pytest.mark.parametrize(
    ("target", "grant", "noun"),
    [
        ("t", "SELECT ON t", "table t"),
        ("s", "SELECT ON s", "subscription s"),
        ("(SELECT a FROM t)", "SELECT (a) ON t", "table t"),
        ("(SELECT a, f(a) FROM v)", "SELECT ON v", "view v"),
        ("(SELECT a, f(a) FROM v)", "EXECUTE ON FUNCTION f(int)", "function f"),
    ],
)
def test_a_subscribe_ends_with_the_next_rows(
    database: Database, users: Users, target: str, grant: str, noun: str
) -> None:
    alice, bob, root = users["alice"], users["bob"], users["root"]
    root.run("GRANT CREATE ON SCHEMA public TO bob")
    alice.run("CREATE VIEW v AS SELECT a FROM t; CREATE SUBSCRIPTION s FROM t WITH (retention = '1 day')")
    alice.run("CREATE FUNCTION f(x int) RETURNS int LANGUAGE sql AS 'SELECT $1'")
    alice.run("REVOKE EXECUTE ON FUNCTION f(int) FROM PUBLIC; GRANT EXECUTE ON FUNCTION f(int) TO bob")
    alice.run(f"GRANT SELECT ON v TO bob; GRANT {grant} TO bob")
    batches = begun(bob, f"SUBSCRIBE TO {target}")
    assert values(batches, 1) == [1]
    alice.run("GRANT SELECT ON t TO carol; INSERT INTO t VALUES (2, 20); FLUSH")
    assert values(batches, 1) == [2]
    alice.run(f"REVOKE {grant} FROM bob")
    alice.run("INSERT INTO t VALUES (3, 30); FLUSH")
    with pytest.raises(InsufficientPrivilege) as raised:
        next(batches)
    assert raised.value.message == f"permission denied for {noun}"
    bob.session.fail()
    bob.session.sync()
    assert bob.run("SELECT 1") == [(1,)]
    end = time.monotonic() + 30
    while any(map(is_temporary, database.reads.catalog.own_relations)):  # the drop of its view is on its way
        assert time.monotonic() < end
        time.sleep(0.01)
