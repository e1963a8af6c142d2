"""Every alteration of a table upstream, before, during and after the snapshot: followed, or the copy stops and says so.

In no case is the copy silently wrong: either it is what the query gives upstream, or it has the rows of the moment
before, and `rw_source_lag.failure` has the reason. The source's other table goes on.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import pytest

from risingpy.connectors.postgres_cdc import receiver as receiver_module
from risingpy.connectors.postgres_cdc import snapshot
from risingpy.errors import SqlError
from tests.connectors.postgres_cdc.upstream import Upstream, follow, until
from tests.meta.conftest import Client, Server

TABLE = "CREATE TABLE t (id int PRIMARY KEY, a int, b text NOT NULL, c varchar(9), d int UNIQUE)"
OTHER = "CREATE TABLE other (id int PRIMARY KEY); INSERT INTO other VALUES (1)"
COLUMNS = "id, a, b, c, d"
FIRST = [(1, 10, "x", "u", 1), (2, 20, "y", "v", 2)]


@dataclass(frozen=True)
class Alteration:
    """A statement upstream, a change of a row that works after it, and how the copy stops (None: it goes on).

    `query` reads upstream what the copy has, if it goes on. `at_creation` is the error of a CREATE TABLE of these
    columns after it. `note` is what failure says of a copy that goes on.
    """

    statement: str
    change: str | None
    reason: str | None = None
    query: str = f"SELECT {COLUMNS} FROM t ORDER BY id"
    at_creation: str | None = None
    note: str | None = None


INSERT = "INSERT INTO t (id, a, b) VALUES (3, 30, 'z')"
UPDATE = "UPDATE t SET d = 9 WHERE id = 1"
ALTERATIONS = {
    "add a column": Alteration("ALTER TABLE t ADD COLUMN e int", UPDATE, note='column "e"'),
    "add one with a default": Alteration("ALTER TABLE t ADD e int NOT NULL DEFAULT 5", UPDATE, note='column "e"'),
    "drop a nullable column": Alteration(
        "ALTER TABLE t DROP COLUMN a", UPDATE, 'column "a" was dropped', at_creation='"a" does not exist'
    ),
    "drop a NOT NULL column": Alteration(
        "ALTER TABLE t DROP COLUMN b", UPDATE, 'column "b" was dropped', at_creation='"b" does not exist'
    ),
    "drop the key": Alteration(
        "ALTER TABLE t DROP COLUMN id", "INSERT INTO t (a, b) VALUES (5, 'k')", 'column "id" was dropped',
        at_creation="no primary key",
    ),
    "drop the primary key": Alteration(
        "ALTER TABLE t DROP CONSTRAINT t_pkey", INSERT, "primary key", at_creation="no primary key"
    ),
    "change the primary key": Alteration(
        "ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (d)", UPDATE, "primary key", at_creation="primary key"
    ),
    "rename a column": Alteration(
        "ALTER TABLE t RENAME COLUMN b TO bb", UPDATE, query="SELECT id, a, bb, c, d FROM t ORDER BY id",
        at_creation='"b" does not exist',
    ),
    "rename the key": Alteration(
        "ALTER TABLE t RENAME COLUMN id TO key", "DELETE FROM t WHERE key = 2",
        query="SELECT key, a, b, c, d FROM t ORDER BY key", at_creation='"id" does not exist',
    ),
    "swap two columns' names": Alteration(
        "ALTER TABLE t RENAME COLUMN a TO x; ALTER TABLE t RENAME COLUMN d TO a; ALTER TABLE t RENAME COLUMN x TO d",
        UPDATE, query="SELECT id, d, b, c, a FROM t ORDER BY id",
    ),
    "rename the table": Alteration(
        "ALTER TABLE t RENAME TO tt", "UPDATE tt SET d = 9 WHERE id = 1",
        query=f"SELECT {COLUMNS} FROM tt ORDER BY id", at_creation="does not exist",
    ),
    "move it to another schema": Alteration(
        "CREATE SCHEMA s; ALTER TABLE t SET SCHEMA s", "UPDATE s.t SET d = 9 WHERE id = 1",
        query=f"SELECT {COLUMNS} FROM s.t ORDER BY id", at_creation="does not exist",
    ),
    "change a type": Alteration(
        "ALTER TABLE t ALTER a TYPE bigint USING a * 1000", UPDATE, 'the type of column "a"',
        at_creation="is of type",
    ),
    "change a length": Alteration("ALTER TABLE t ALTER c TYPE varchar(20)", UPDATE, 'the type of column "c"'),
    "put another column in one's place": Alteration(
        "ALTER TABLE t ADD a2 int DEFAULT 7; ALTER TABLE t DROP d; ALTER TABLE t RENAME a2 TO d", UPDATE,
        'column "d" was dropped|altered upstream more than once',
    ),
    "drop NOT NULL": Alteration(
        "ALTER TABLE t ALTER b DROP NOT NULL", None, 'column "b" may be NULL', at_creation=""
    ),
    "drop the table": Alteration("DROP TABLE t", None, "was dropped", at_creation="does not exist"),
    "make it anew": Alteration(
        f"DROP TABLE t; {TABLE}; INSERT INTO t VALUES (7, 7, 'new', NULL, 7)", INSERT, "was dropped",
    ),
    "truncate": Alteration("TRUNCATE t", INSERT),
    "truncate and more": Alteration("BEGIN; TRUNCATE t; INSERT INTO t VALUES (8, 8, 'i', NULL, 8); COMMIT", INSERT),
    "rewrite": Alteration("VACUUM FULL t", UPDATE),
    "full identity": Alteration("ALTER TABLE t REPLICA IDENTITY FULL", UPDATE),
    "identity by an index": Alteration(
        "ALTER TABLE t ALTER d SET NOT NULL; ALTER TABLE t REPLICA IDENTITY USING INDEX t_d_key", UPDATE,
        "replica identity", at_creation="replica identity",
    ),
    "no identity": Alteration(
        "ALTER TABLE t REPLICA IDENTITY NOTHING", INSERT, "replica identity", at_creation="replica identity"
    ),
    "leave the publication": Alteration("ALTER PUBLICATION published DROP TABLE t", UPDATE, "publication"),
}  # fmt: skip
each_alteration = pytest.mark.parametrize("altered", ALTERATIONS.values(), ids=ALTERATIONS.keys())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiver_module, "ASK_SECONDS", 0.1)


def failure(client: Client) -> str | None:
    [(found,)] = client.run("SELECT failure FROM rw_catalog.rw_source_lag WHERE job_name = 't'")
    assert found is None or isinstance(found, str)
    return found


def goes_on(client: Client, upstream: Upstream, key: int) -> None:
    """The source's other table gets what is committed upstream now."""
    upstream.run(f"INSERT INTO other VALUES ({key})")
    until(lambda: client.run(f"FLUSH; SELECT id FROM other WHERE id = {key}") == [(key,)])


def is_right(client: Client, upstream: Upstream, altered: Alteration, before: object) -> None:
    """The copy and its view are what upstream has, or what that had `before`, with the reason."""
    if altered.reason is None:
        expected = upstream.run(altered.query)
        until(lambda: client.run(f"FLUSH; SELECT {COLUMNS} FROM t ORDER BY id") == expected)
        if altered.note is not None:
            note = altered.note
            until(lambda: note in (failure(client) or ""))
        else:
            time.sleep(0.3)
            assert failure(client) is None
    else:
        until(lambda: failure(client) is not None)
        assert any(part in (failure(client) or "") for part in altered.reason.split("|")), failure(client)
        assert client.run(f"SELECT {COLUMNS} FROM t ORDER BY id") == before
    assert client.run("SELECT * FROM v ORDER BY id") == client.run("SELECT id, a, b, d FROM t ORDER BY id")
    assert client.run("SELECT * FROM rw_catalog.rw_source_errors") == []


@pytest.mark.usefixtures("quick")
@each_alteration
@pytest.mark.parametrize("waits", [False, True], ids=["at once", "noticed before"])
def test_after_the_snapshot(server: Server, upstream: Upstream, altered: Alteration, waits: bool) -> None:
    """Also after a restart, and where the alteration and the change are far from the end of the stream."""
    upstream.run(f"{TABLE}; {OTHER}; INSERT INTO t VALUES {', '.join(map(str, FIRST))}")
    client = follow(server, upstream, "t", "other")
    client.run("CREATE MATERIALIZED VIEW v AS SELECT id, a, b, d FROM t")
    upstream.run("UPDATE t SET a = 11 WHERE id = 1")
    before = upstream.run(f"SELECT {COLUMNS} FROM t ORDER BY id")
    for statement in [altered.statement] if "BEGIN" in altered.statement else altered.statement.split("; "):
        upstream.run(statement)
    if waits:
        goes_on(client, upstream, 2)
        time.sleep(0.3)
    if altered.change is not None:
        upstream.run(altered.change)
    goes_on(client, upstream, 3)
    is_right(client, upstream, altered, before)
    server.restart()
    client = server.client()
    goes_on(client, upstream, 4)
    is_right(client, upstream, altered, before)
    if altered.reason is not None:
        client.run("DROP MATERIALIZED VIEW v; DROP TABLE t")
        goes_on(client, upstream, 5)


@pytest.mark.usefixtures("quick")
@each_alteration
def test_with_transactions_that_wait(server: Server, upstream: Upstream, altered: Alteration) -> None:
    """What was committed before the alteration is copied, though the catalog is ahead of the stream by then."""
    upstream.run(f"{TABLE}; {OTHER}; INSERT INTO t VALUES {', '.join(map(str, FIRST))}")
    client = follow(server, upstream, "t", "other")
    client.run("CREATE MATERIALIZED VIEW v AS SELECT id, a, b, d FROM t")
    server.stop()
    upstream.run("UPDATE t SET a = 11 WHERE id = 1")
    before = upstream.run(f"SELECT {COLUMNS} FROM t ORDER BY id")
    for statement in [altered.statement] if "BEGIN" in altered.statement else altered.statement.split("; "):
        upstream.run(statement)
    if altered.change is not None:
        upstream.run(altered.change)
    server.start()
    client = server.client()
    goes_on(client, upstream, 3)
    earlier = "another" in altered.statement or "a2" in altered.statement  # of two ways neither is certain
    is_right(client, upstream, altered, FIRST if earlier else before)


@pytest.mark.usefixtures("quick")
@each_alteration
def test_before_the_snapshot(server: Server, upstream: Upstream, altered: Alteration) -> None:
    """CREATE TABLE with the columns of before says what does not fit; what it makes is right."""
    upstream.run(f"{TABLE}; {OTHER}; INSERT INTO t VALUES {', '.join(map(str, FIRST))}")
    client = follow(server, upstream, "other")
    upstream.run("ALTER PUBLICATION published ADD TABLE t")
    for statement in [altered.statement] if "BEGIN" in altered.statement else altered.statement.split("; "):
        upstream.run(statement)
    create = "CREATE TABLE t (id int PRIMARY KEY, a int, b text, c varchar, d int) FROM pg TABLE 'public.t'"
    if altered.at_creation:
        with pytest.raises(SqlError, match=altered.at_creation):
            client.run(create)
    else:
        client.run(create)
        if altered.change is not None:
            upstream.run(altered.change)
        expected = upstream.run(f"SELECT {COLUMNS} FROM t ORDER BY id")
        until(lambda: client.run(f"FLUSH; SELECT {COLUMNS} FROM t ORDER BY id") == expected)
    goes_on(client, upstream, 2)


@pytest.mark.usefixtures("quick")
@each_alteration
@pytest.mark.parametrize("moment", ["after the slot", "after the rows"])
def test_during_the_snapshot(
    server: Server, upstream: Upstream, altered: Alteration, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CREATE TABLE fails and says why, or makes a copy that is right. It does not take a rewritten table for empty."""
    upstream.run(f"{TABLE}; {OTHER}; INSERT INTO t VALUES {', '.join(map(str, FIRST))}")
    client = follow(server, upstream, "other")
    done = threading.Event()

    def alter() -> None:
        if not done.is_set():
            done.set()
            for statement in [altered.statement] if "BEGIN" in altered.statement else altered.statement.split("; "):
                upstream.run(statement)

    create_slot, take_snapshot = snapshot.create_slot, snapshot.take_snapshot

    def slot_then_alter(*args: object) -> object:
        made = create_slot(*args)  # type: ignore[arg-type]
        if "t" in str(args[1]) and "snapshot" in str(args[1]):
            alter()
        return made

    def snapshot_then_alter(*args: object) -> object:
        made = take_snapshot(*args)  # type: ignore[arg-type]
        alter()
        return made

    if moment == "after the slot":
        monkeypatch.setattr(snapshot, "create_slot", slot_then_alter)
    else:
        monkeypatch.setattr("risingpy.connectors.postgres_cdc.connector.take_snapshot", snapshot_then_alter)
    try:
        client.run("CREATE TABLE t (*) FROM pg TABLE 'public.t'")
    except SqlError as error:
        assert done.is_set() and altered.reason is not None
        assert any(part in str(error) for part in altered.reason.split("|")), error
    else:
        client.run("CREATE MATERIALIZED VIEW v AS SELECT id, a, b, d FROM t")
        if altered.change is not None:
            upstream.run(altered.change)
        is_right(client, upstream, altered, FIRST)
    goes_on(client, upstream, 2)
