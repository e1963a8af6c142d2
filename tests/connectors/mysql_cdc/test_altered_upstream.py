"""Every alteration of a table upstream, before, during and after the snapshot: the copy is right, or says so."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import pytest

from risingpy.connectors.mysql_cdc import connector as connector_module
from risingpy.connectors.mysql_cdc import receiver as receiver_module
from risingpy.connectors.mysql_cdc import snapshot
from risingpy.connectors.mysql_cdc.alterations import Effect, EffectKind, effects_of
from risingpy.errors import SqlError
from tests.connectors.mysql_cdc.upstream import Upstream, follow, until
from tests.meta.conftest import Client, Server

TABLE = "CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(20) NOT NULL, d int)"
FIRST = [(1, 10, "x", 1), (2, 20, "y", 2)]
QUERY = "SELECT id, a, b, d FROM t ORDER BY id"
UPDATE = "UPDATE t SET d = 9 WHERE id = 1"
INSERT = "INSERT INTO t (id, a, b) VALUES (3, 30, 'z')"


@dataclass(frozen=True)
class Alteration:
    """Statements upstream, a change of a row that works after them, and how the copy stops (None: it goes on).

    `at_creation` is the error of a CREATE TABLE of these columns after it.
    """

    statements: tuple[str, ...]
    change: str | None
    reason: str | None = None
    at_creation: str | None = None
    note: str | None = None


ALTERATIONS = {
    "add a column": Alteration(("ALTER TABLE t ADD COLUMN e int",), UPDATE, note="added upstream"),
    "add one in front": Alteration(("ALTER TABLE t ADD e int DEFAULT 5 FIRST",), UPDATE, note="added upstream"),
    "drop a nullable column": Alteration(("ALTER TABLE t DROP COLUMN a",), UPDATE, 'column "a"', '"a" does not exist'),
    "drop a NOT NULL column": Alteration(("ALTER TABLE t DROP b",), UPDATE, 'column "b"', '"b" does not exist'),
    "drop the key": Alteration(
        ("ALTER TABLE t DROP PRIMARY KEY, DROP COLUMN id",), "INSERT INTO t (a, b) VALUES (5, 'k')", "primary key",
        "no primary key",
    ),
    "change the primary key": Alteration(
        ("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (d)",), UPDATE, "primary key", "primary key"
    ),
    "rename a column": Alteration(("ALTER TABLE t RENAME COLUMN b TO bb",), UPDATE, 'column "b"', '"b" does not exist'),
    "change a column": Alteration(("ALTER TABLE t CHANGE a a2 int",), UPDATE, 'column "a"', '"a" does not exist'),
    "put another in one's place": Alteration(
        ("ALTER TABLE t ADD d2 int DEFAULT 7", "ALTER TABLE t DROP d", "ALTER TABLE t CHANGE d2 d int"), UPDATE,
        'column "d"',
    ),
    "change a type": Alteration(("ALTER TABLE t MODIFY a bigint",), UPDATE, 'column "a"', "is of type"),
    "rename the table": Alteration(("RENAME TABLE t TO tt",), "UPDATE tt SET d = 9", "renamed", "does not exist"),
    "rename it by ALTER": Alteration(("ALTER TABLE t RENAME tt",), "UPDATE tt SET d = 9", "renamed", "does not exist"),
    "drop the table": Alteration(("DROP TABLE t",), None, "dropped", "does not exist"),
    "make it anew": Alteration(
        ("DROP TABLE t", TABLE, "INSERT INTO t VALUES (7, 7, 'new', 7)"), INSERT, "dropped"
    ),
    "replace it": Alteration((TABLE.replace("CREATE", "CREATE OR REPLACE"),), INSERT, "dropped|made anew"),
    "truncate": Alteration(("TRUNCATE t",), INSERT),
    "an index": Alteration(("ALTER TABLE t ADD INDEX by_a (a)", "CREATE INDEX by_d ON t (d)"), UPDATE),
    "rewrite": Alteration(
        ("ALTER TABLE t ENGINE=InnoDB", "OPTIMIZE TABLE t", "ALTER TABLE t COMMENT 'DROP a, b'"), UPDATE
    ),
    "a statement without rows": Alteration(
        ("SET binlog_format = STATEMENT", "UPDATE t SET a = 0", "SET binlog_format = ROW"), UPDATE, "without its rows",
    ),
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


def make(upstream: Upstream) -> None:
    upstream.run(
        TABLE, "CREATE TABLE other (id int PRIMARY KEY)", "INSERT INTO other VALUES (1)",
        f"INSERT INTO t VALUES {', '.join(map(str, FIRST))}",
    )  # fmt: skip


def is_right(client: Client, upstream: Upstream, altered: Alteration, before: object) -> None:
    """The copy is what upstream has, or what that had `before`, with the reason."""
    if altered.reason is None:
        expected = upstream.run(QUERY)
        until(lambda: client.run(f"FLUSH; {QUERY}") == expected)
        note = altered.note
        if note is not None:
            until(lambda: note in (failure(client) or ""))
        else:
            time.sleep(0.3)
            assert failure(client) is None
    else:
        until(lambda: failure(client) is not None)
        assert any(part in (failure(client) or "") for part in altered.reason.split("|")), failure(client)
        assert client.run(QUERY) == before
    assert client.run("SELECT * FROM rw_catalog.rw_source_errors") == []


@pytest.mark.usefixtures("quick")
@each_alteration
@pytest.mark.parametrize("stopped", [False, True], ids=["while it runs", "while it is stopped"])
def test_after_the_snapshot(server: Server, upstream: Upstream, altered: Alteration, stopped: bool) -> None:
    """Also after a restart, and if the statements wait in the log."""
    make(upstream)
    client = follow(server, upstream, "t", "other")
    if stopped:
        server.stop()
    upstream.run("UPDATE t SET a = 11 WHERE id = 1")
    before = upstream.run(QUERY)
    upstream.run(*altered.statements)
    if altered.change is not None:
        upstream.run(altered.change)
    if stopped:
        server.start()
        client = server.client()
    goes_on(client, upstream, 3)
    is_right(client, upstream, altered, before)
    if altered.note is None:
        server.restart()
        client = server.client()
        goes_on(client, upstream, 4)
        is_right(client, upstream, altered, before)


@pytest.mark.usefixtures("quick")
@each_alteration
def test_before_the_snapshot(server: Server, upstream: Upstream, altered: Alteration) -> None:
    """CREATE TABLE with the columns of before says what does not fit; what it makes is right."""
    make(upstream)
    client = follow(server, upstream, "other")
    upstream.run(*altered.statements)
    create = "CREATE TABLE t (id int PRIMARY KEY, a int, b varchar, d int) FROM my TABLE 't'"
    if altered.at_creation:
        with pytest.raises(SqlError, match=altered.at_creation):
            client.run(create)
    else:
        client.run(create)
        if altered.change is not None:
            upstream.run(altered.change)
        expected = upstream.run(QUERY)
        until(lambda: client.run(f"FLUSH; {QUERY}") == expected)
    goes_on(client, upstream, 2)


@pytest.mark.usefixtures("quick")
@each_alteration
@pytest.mark.parametrize("moment", ["after its position", "after the rows"])
def test_during_the_snapshot(
    server: Server, upstream: Upstream, altered: Alteration, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CREATE TABLE fails and says why, or makes a copy that is right."""
    make(upstream)
    client = follow(server, upstream, "other")
    done = threading.Event()
    begin, take = snapshot._begin, snapshot.take_snapshot
    altering = threading.Thread(target=lambda: upstream.run(*altered.statements))

    def alter() -> None:
        """It may have to wait for the end of the snapshot."""
        if not done.is_set():
            done.set()
            altering.start()
            altering.join(0.3)

    def begin_then_alter(*args: object) -> object:
        made = begin(*args)
        alter()
        return made

    def take_then_alter(*args: object) -> object:
        made = take(*args)  # type: ignore[arg-type]
        alter()
        return made

    if moment == "after its position":
        monkeypatch.setattr(snapshot, "_begin", begin_then_alter)
    else:
        monkeypatch.setattr(connector_module, "take_snapshot", take_then_alter)
    try:
        client.run("CREATE TABLE t (*) FROM my TABLE 't'")
    except SqlError as error:
        assert done.is_set() and (altered.reason or altered.note) is not None, error
    else:
        altering.join()
        if altered.change is not None:
            upstream.run(altered.change)
        in_time = moment == "after its position" and altered is ALTERATIONS["replace it"]
        if in_time and failure(client) is None:  # the new table was there before the rows were read
            until(lambda: client.run(f"FLUSH; {QUERY}") == upstream.run(QUERY))
        else:
            is_right(client, upstream, altered, FIRST)
    altering.join()
    goes_on(client, upstream, 2)


def test_what_statements_do() -> None:
    def effects(statement: str) -> list[tuple[str, EffectKind, str]]:
        return [(each.table, each.kind, each.what) for each in effects_of("d", statement)]

    table, column, added = EffectKind.TABLE, EffectKind.COLUMN, EffectKind.ADDED
    assert effects("/* c */ ALTER TABLE `o`.`a``b` DROP `x`, add (y int, z int) , MODIFY IF EXISTS `q r` text") == [
        ("o.a`b", column, "x"), ("o.a`b", added, ""), ("o.a`b", column, "q r")
    ]  # fmt: skip
    assert effects("DROP TABLE IF EXISTS a, `x`.`b`") == [(n, table, "was dropped upstream") for n in ("d.a", "x.b")]
    assert effects("rename table a to b, c.d to e") == [(n, table, "was renamed upstream") for n in ("d.a", "c.d")]
    assert effects("DROP DATABASE `d`") == [("d.*", table, "was dropped upstream")]
    assert effects("ALTER TABLE t COMMENT 'a, DROP COLUMN b', ADD CONSTRAINT c CHECK (a > 1), DROP INDEX i") == []
    assert effects("ALTER TABLE t ADD CONSTRAINT x PRIMARY KEY (a)")[0][1] is table
    assert effects("ALTER TABLE t CONVERT TO CHARACTER SET latin1")[0][1] is table
    assert effects("ALTER TABLE t DROP PARTITION p1")[0][1] is table
    assert effects("ALTER TABLE t SOMETHING NEW")[0][1] is table
    assert list(effects_of("d", "truncate t")) == [Effect("d.t", EffectKind.TRUNCATED)]
    assert effects("CREATE TABLE t (a int)") == effects("GRANT ALL ON t TO u") == effects("ANALYZE TABLE t") == []
