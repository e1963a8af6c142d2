"""`auto.schema.change = 'true'`: a copy gets its original's new columns and loses those that go, or stops and says why.

Each alteration is made after the snapshot (at once with rows, and after it was noticed), before transactions that wait
while the server is down, and during the snapshot: of a table of its own, all of one source. The copy is what the
original is, also in its view; or it has the rows of the moment before and the reason.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from risingpy.connectors.postgres_cdc import receiver as receiver_module
from risingpy.connectors.postgres_cdc import snapshot
from risingpy.connectors.postgres_cdc.followed_columns import numbers_sent
from risingpy.connectors.postgres_cdc.table_shapes import ShapeColumn, TableShape
from risingpy.errors import SourceUnavailable, SqlError
from risingpy.meta import database as database_module
from risingpy.meta.schema.altered_copy import alter_copy
from tests.connectors.postgres_cdc.upstream import Upstream, until
from tests.meta.conftest import Client, Server

TABLE = "CREATE TABLE t (id int PRIMARY KEY, a int, b text NOT NULL); INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y')"
OTHER = "CREATE TABLE other (id int PRIMARY KEY); INSERT INTO other VALUES (1)"


@dataclass(frozen=True)
class Alteration:
    """One transaction upstream, one after it, and why the copy stops (None: it goes on).

    `names` are the copy's columns at the end, and `query` reads them here and there. `late`: why it may stop if the
    catalog is ahead of the stream.
    """

    statement: str
    change: str
    names: str
    reason: str | None = None
    query: str = "SELECT * FROM t ORDER BY id"
    late: str | None = None


UPDATE = "UPDATE t SET b = 'after' WHERE id = 1"
ALTERATIONS = {
    "nullable": Alteration("ALTER TABLE t ADD e int", "UPDATE t SET e = 7 WHERE id = 1", "id a b e"),
    "nullable, no rows": Alteration("ALTER TABLE t ADD e int", "SELECT 1", "id a b e"),
    "constants": Alteration(
        "ALTER TABLE t ADD e int NOT NULL DEFAULT 5, ADD f numeric(9,2)[] DEFAULT '{1.50,NULL}',"
        """ ADD g text DEFAULT 'it''s, "{q}" \\ ü', ADD h timestamptz DEFAULT '2026-01-02 03:04:05+06',"""
        " ADD i uuid DEFAULT '00000000-0000-0000-0000-00000000000a', ADD j jsonb DEFAULT '{\"a\": [1]}'",
        "INSERT INTO t (id, b) VALUES (3, 'z')", "id a b e f g h i j",
        query="SELECT id, a, b, e, f::text, g, h::text, i::text, j::text FROM t ORDER BY id",
    ),
    "now()": Alteration("ALTER TABLE t ADD e timestamp DEFAULT now()", UPDATE, "id a b e"),
    "random()": Alteration("ALTER TABLE t ADD e float DEFAULT random()", UPDATE, "id a b", "was rewritten"),
    "random(), no default": Alteration(
        "ALTER TABLE t ADD e float DEFAULT random(); ALTER TABLE t ALTER e DROP DEFAULT", UPDATE, "id a b",
        "was rewritten",
    ),
    "serial": Alteration("ALTER TABLE t ADD e serial", UPDATE, "id a b", "was rewritten"),
    "generated": Alteration("ALTER TABLE t ADD e int GENERATED ALWAYS AS (a + 1) STORED", UPDATE, "id a b",
                            query="SELECT id, a, b FROM t ORDER BY id"),
    "drop": Alteration("ALTER TABLE t DROP COLUMN a", UPDATE, "id b"),
    "drop NOT NULL": Alteration("ALTER TABLE t DROP COLUMN b", "UPDATE t SET a = 9 WHERE id = 1", "id a",
                                'column b of table t because other objects depend on it.*view v'),
    "drop the key": Alteration("ALTER TABLE t DROP COLUMN id", "SELECT 1", "id a b", 'column "id" was dropped'),
    "rename": Alteration("ALTER TABLE t RENAME a TO aa", UPDATE, "id a b"),
    "rename and add": Alteration("ALTER TABLE t RENAME a TO aa; ALTER TABLE t ADD e int DEFAULT 3", UPDATE, "id a b e"),
    "rename and take the name": Alteration(
        "ALTER TABLE t RENAME a TO aa; ALTER TABLE t ADD a int DEFAULT 3", UPDATE, "id a b",
        '"a" of relation "t" already',
    ),
    "type": Alteration("ALTER TABLE t ALTER a TYPE bigint", UPDATE, "id a b", 'the type of column "a"'),
    "add and drop": Alteration("ALTER TABLE t ADD e int DEFAULT 1; ALTER TABLE t DROP a", UPDATE, "id b e"),
    "add, then drop it": Alteration("ALTER TABLE t ADD e int DEFAULT 1; ALTER TABLE t DROP e", UPDATE, "id a b"),
    "add, drop, add": Alteration(
        "ALTER TABLE t ADD e int DEFAULT 1; ALTER TABLE t DROP e; ALTER TABLE t ADD e int DEFAULT 2", UPDATE, "id a b",
        "more than once",
    ),
    "drop, then add it": Alteration(
        "ALTER TABLE t DROP a; ALTER TABLE t ADD a int DEFAULT 2", UPDATE, "id b a", late="more than once",
    ),
    "rows before and after": Alteration(
        "UPDATE t SET a = 11 WHERE id = 1; INSERT INTO t VALUES (3, 30, 'z'); ALTER TABLE t ADD e int DEFAULT 4;"
        " UPDATE t SET e = e + id WHERE id = 2; INSERT INTO t VALUES (4, 40, 'q', NULL); ALTER TABLE t DROP a;"
        " DELETE FROM t WHERE id = 1",
        "INSERT INTO t VALUES (1, 'again', 1)", "id b e",
    ),
    "truncate and add": Alteration("TRUNCATE t; ALTER TABLE t ADD e int; INSERT INTO t VALUES (5, 5, '5', 5)", UPDATE,
                                   "id a b", "was rewritten"),
}  # fmt: skip
TABLES = {f"t{number}": altered for number, altered in enumerate(ALTERATIONS.values())}
Rows = list[tuple[Any, ...]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiver_module, "ASK_SECONDS", 0.1)


def of(table: str, text: str) -> str:
    """The text of another table than t."""
    return re.sub(r"\bt\b", table, text)


def followed(server: Server, upstream: Upstream, tables: Iterable[str], copied: Iterable[str]) -> Client:
    upstream.run(OTHER)
    for table in tables:
        upstream.run(of(table, TABLE))
    client = server.client()
    client.run(upstream.source(auto__schema__change="true"))
    for table in ("other", *copied):
        client.run(f"CREATE TABLE {table} (*) FROM pg TABLE 'public.{table}'")
    for table in copied:
        client.run(f"CREATE MATERIALIZED VIEW v_{table} AS SELECT id, b FROM {table}")
    return client


def failures(client: Client) -> dict[str, str]:
    found = client.run("SELECT job_name, failure FROM rw_catalog.rw_source_lag WHERE failure IS NOT NULL")
    return {str(table): str(failure) for table, failure in found}


def columns(client: Client, table: str) -> str:
    found = client.run(
        f"SELECT attname FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped"
        " ORDER BY attnum"
    )
    return " ".join(str(name) for (name,) in found)


def goes_on(client: Client, upstream: Upstream, key: int) -> None:
    """The source's other table gets what is committed upstream now."""
    upstream.run(f"INSERT INTO other VALUES ({key})")
    until(lambda: client.run(f"FLUSH; SELECT id FROM other WHERE id = {key}") == [(key,)])


def rows(client: Client | Upstream, table: str) -> Rows:
    return client.run(f"SELECT * FROM {table} ORDER BY id")


def check(client: Client, upstream: Upstream, before: dict[str, Rows]) -> None:
    """The copies and their views are what upstream has, or what that had `before`, with the reason."""
    settled = {table for table, altered in TABLES.items() if altered.reason is not None}
    until(lambda: settled <= failures(client).keys())
    found = failures(client)
    client.run("FLUSH")
    for table, altered in TABLES.items():
        reason = altered.reason or (altered.late if table in found else None)
        if reason is not None:
            assert re.search(of(table, reason), found[table]), (altered, found[table])
            if altered.late is None:
                assert rows(client, table) == before[table], altered
        else:
            assert table not in found, (altered, found[table])
            assert columns(client, table) == altered.names, altered
            query = of(table, altered.query)
            assert client.run(query) == upstream.run(query), altered
        assert rows(client, f"v_{table}") == client.run(f"SELECT id, b FROM {table} ORDER BY id")
    assert client.run("SELECT * FROM rw_catalog.rw_source_errors") == []


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "noticed before"])
def test_after_the_snapshot(server: Server, upstream: Upstream, waits: bool) -> None:
    client = followed(server, upstream, TABLES, TABLES)
    before = {}
    for table in TABLES:
        upstream.run(f"UPDATE {table} SET a = 11 WHERE id = 1")
        before[table] = rows(upstream, table)
    goes_on(client, upstream, 2)
    for table, altered in TABLES.items():
        upstream.run(of(table, altered.statement))
        if not waits:
            upstream.run(of(table, altered.change))
    goes_on(client, upstream, 3)
    if waits:
        for table, altered in TABLES.items():
            upstream.run(of(table, altered.change))
        goes_on(client, upstream, 4)
    check(client, upstream, before)
    server.restart()
    client = server.client()
    goes_on(client, upstream, 5)
    check(client, upstream, before)


def test_with_transactions_that_wait(server: Server, upstream: Upstream) -> None:
    """What was committed before the alteration is copied, though the catalog is ahead of the stream by then."""
    client = followed(server, upstream, TABLES, TABLES)
    server.stop()
    before = {}
    for table, altered in TABLES.items():
        upstream.run(f"UPDATE {table} SET a = 11 WHERE id = 1")
        before[table] = rows(upstream, table)
        upstream.run(of(table, altered.statement))
        upstream.run(of(table, altered.change))
    server.start()
    client = server.client()
    goes_on(client, upstream, 3)
    check(client, upstream, before)


@pytest.mark.parametrize("moment", ["after the slot", "after the rows"])
def test_during_the_snapshot(server: Server, upstream: Upstream, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """CREATE TABLE makes a copy that is right, or fails and says why: the same statement makes it then."""
    names = ["nullable", "constants", "drop", "rows before and after"]
    chosen = {table: altered for table, altered in TABLES.items() if altered in [ALTERATIONS[name] for name in names]}
    client = followed(server, upstream, chosen, ())
    to_do: list[str] = []
    create_slot, take_snapshot = snapshot.create_slot, snapshot.take_snapshot

    def slot_then_alter(*args: Any) -> object:
        made = create_slot(*args)
        while to_do and "snapshot" in args[1]:
            upstream.run(to_do.pop())
        return made

    def snapshot_then_alter(*args: Any) -> object:
        made = take_snapshot(*args)
        while to_do:
            upstream.run(to_do.pop())
        return made

    if moment == "after the slot":
        monkeypatch.setattr(snapshot, "create_slot", slot_then_alter)
    else:
        monkeypatch.setattr("risingpy.connectors.postgres_cdc.connector.take_snapshot", snapshot_then_alter)
    for number, (table, altered) in enumerate(chosen.items()):
        to_do.append(of(table, altered.statement))
        create = f"CREATE TABLE {table} (*) FROM pg TABLE 'public.{table}'"
        try:
            client.run(create)
        except SqlError as error:
            assert re.search("upstream", str(error)), error
            client.run(create)
        upstream.run(of(table, altered.change))
        goes_on(client, upstream, 10 + number)
        query = of(table, altered.query)
        assert client.run(query) == upstream.run(query)
    assert failures(client) == {}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_crash_at_the_alteration(
    server: Server, upstream: Upstream, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction whose rows come in both forms is taken once, whether or not the copy is altered already."""
    altered = ALTERATIONS["rows before and after"]
    client = followed(server, upstream, ["t"], ["t"])
    crashed = threading.Event()

    def crash(changes: Any, change: Any, cancelled: Any) -> str | None:
        if moment == "after":
            alter_copy(changes, change, cancelled)
        crashed.set()
        raise SourceUnavailable("crash")

    with monkeypatch.context() as patched:
        patched.setattr(database_module, "alter_copy", crash)
        upstream.run(altered.statement)
        until(crashed.is_set)
        server.stop()
    server.start()
    client = server.client()
    upstream.run(altered.change)
    goes_on(client, upstream, 3)
    assert client.run(altered.query) == upstream.run(altered.query)
    assert failures(client) == {}


def test_listed_columns_stay(server: Server, upstream: Upstream) -> None:
    """Only a copy that was made with (*) follows: of another one, a column that goes stops it as ever."""
    client = followed(server, upstream, ["t"], [])
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int, b text) FROM pg TABLE 'public.t'")
    upstream.run("ALTER TABLE t ADD e int DEFAULT 3; UPDATE t SET a = 4")
    goes_on(client, upstream, 2)
    assert rows(client, "t") == upstream.run("SELECT id, a, b FROM t ORDER BY id")
    upstream.run("ALTER TABLE t DROP a")
    until(lambda: 'column "a" was dropped' in failures(client).get("t", ""))


def test_the_option_is_for_good(server: Server, upstream: Upstream) -> None:
    """A copy that has not followed lacks the values that came since."""
    client = server.client()
    client.run(upstream.source())
    with pytest.raises(SqlError, match=r'option "auto\.schema\.change" of a source cannot be changed'):
        client.run("ALTER SOURCE pg CONNECTOR WITH (auto.schema.change = 'true')")


def shape(*columns: tuple[int, str], highest: int = 0, added: tuple[int, ...] = ()) -> TableShape:
    listed = tuple(ShapeColumn(number, name, 23, -1, False, "", None, number in added) for number, name in columns)
    return TableShape(1, "t", listed, (1,), 0, highest)


def sent(*names: str) -> list[tuple[str, int, int]]:
    return [(name, 23, -1) for name in names]


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["id", "a", "e"], (1, 2, 3)),
        (["id", "a"], (1, 2)),
        (["id", "a", "f"], (1, 2, 3)),
        (["id", "a", "e", "g"], (1, 2, 3, -1)),
        (["id", "x"], None),  # e under another name, or a column that came and went: no certainty
        (["id"], None),
        (["id", "e"], None),
    ],
)
def test_what_tuples_have(names: list[str], numbers: tuple[int, ...] | None) -> None:
    """A column e was added, and is f now. Another one came and went after it."""
    created = shape((1, "id"), (2, "a"), (3, "e"), highest=3, added=(3,))
    now = shape((1, "id"), (2, "a"), (3, "f"), highest=4)
    assert numbers_sent(created, created, now, sent(*names)) == numbers


def test_one_name_of_two_columns_is_not_certain() -> None:
    """The column a was dropped, and another a added."""
    created = shape((1, "id"), (2, "a"), (3, "b"), (4, "a"), highest=4, added=(4,))
    now = shape((1, "id"), (3, "b"), (4, "a"), highest=4)
    assert numbers_sent(created, created, now, sent("id", "a", "b")) == (1, 2, 3)
    assert numbers_sent(created, created, now, sent("id", "b")) == (1, 3)
    created = shape((1, "id"), (2, "a"), (4, "a"), highest=4, added=(4,))
    now = shape((1, "id"), (4, "a"), highest=4)
    assert numbers_sent(created, created, now, sent("id", "a")) is None
