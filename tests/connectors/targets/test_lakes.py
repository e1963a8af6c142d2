"""Sinks to Iceberg and Delta tables, on disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from risingpy.connectors.targets.choice import target_of
from risingpy.connectors.targets.target import SinkSchema, SinkTarget, SinkType
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError, TargetUnavailable, UndefinedTable
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    JSONB,
    NUMERIC,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    array_of,
    map_of,
    numeric,
    struct_of,
)
from tests.connectors.targets.changes import Row, changes_of
from tests.connectors.targets.killed import kill_everywhere

COLUMNS = (("id", BIGINT), ("name", VARCHAR), ("tag", VARCHAR))
APPEND = SinkSchema("s", COLUMNS, (), SinkType.APPEND_ONLY)
UPSERT = SinkSchema("s", COLUMNS, (0, 2), SinkType.UPSERT)


@dataclass(frozen=True)
class Lake:
    """A table of a kind: the options of a sink to it, and what reads its rows."""

    options: dict[str, str]
    read: Callable[[], pa.Table]

    def target(self, schema: SinkSchema) -> SinkTarget:
        return target_of(self.options, schema)

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted(tuple(row.values()) for row in self.read().to_pylist())


def iceberg(directory: Path) -> Lake:
    pytest.importorskip("pyiceberg", reason="pyiceberg is not installed: make test-connectors installs it")
    pytest.importorskip("sqlalchemy", reason="sqlalchemy is not installed: make test-connectors installs it")
    from pyiceberg.catalog import load_catalog

    catalog = {"type": "sql", "uri": f"sqlite:///{directory}/catalog.db", "warehouse": f"file://{directory}"}
    options = {
        "connector": "iceberg",
        "catalog.type": "jdbc",
        "catalog.uri": catalog["uri"],
        "warehouse.path": catalog["warehouse"],
        "database.name": "db",
        "table.name": "t",
        "create_table_if_not_exists": "true",
    }
    return Lake(options, lambda: load_catalog("risingpy", **catalog).load_table("db.t").scan().to_arrow())


def delta(directory: Path) -> Lake:
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed: make test-connectors installs it")
    location = str(directory / "t")
    options = {"connector": "deltalake", "location": location, "create_table_if_not_exists": "true"}
    return Lake(options, lambda: deltalake.DeltaTable(location).to_pyarrow_table())


@pytest.fixture(params=[iceberg, delta], ids=["iceberg", "delta"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    made: Lake = request.param(tmp_path)
    return made


def test_appends(lake: Lake) -> None:
    target = lake.target(APPEND)
    target.check()
    assert target.open() is None
    target.deliver(3, [changes_of(APPEND, [(1, ["1", "a", None])]), changes_of(APPEND, [(1, ["2", None, "x"])])])
    target.deliver(3, [changes_of(APPEND, [(1, ["9", "again", None])])])
    target.deliver(4, [changes_of(APPEND, [])])
    target.deliver(5, [changes_of(APPEND, [(1, ["1", "a", None])])])
    target.close()
    assert sorted(lake.read()["id"].to_pylist()) == [1, 1, 2]
    assert lake.target(APPEND).open() == 5
    lake.target(APPEND).check()


def test_upserts_by_a_key_of_two_columns(lake: Lake) -> None:
    target = lake.target(UPSERT)
    target.open()
    target.deliver(1, [changes_of(UPSERT, [(1, [str(n), "a", "x"]) for n in range(4)])])
    changed: list[tuple[int, Row]] = [
        (-1, ["0", "a", "x"]),
        (-1, ["1", "a", "x"]),
        (1, ["0", "b", "x"]),
        (1, ["0", "c", "y"]),
    ]
    target.deliver(2, [changes_of(UPSERT, changed)])
    target.deliver(2, [changes_of(UPSERT, changed)])
    # Deletes alone, and of a key that is not there.
    target.deliver(3, [changes_of(UPSERT, [(-1, ["3", "a", "x"]), (-1, ["7", "a", "x"])])])
    target.close()
    assert lake.rows() == [(0, "b", "x"), (0, "c", "y"), (2, "a", "x")]


def test_every_type(lake: Lake) -> None:
    columns = (
        ("id", INTEGER),
        ("b", BOOLEAN),
        ("s", SMALLINT),
        ("r", REAL),
        ("d", DOUBLE),
        ("n", NUMERIC),
        ("p", numeric(10, 2, declared=True)),
        ("y", BYTEA),
        ("da", DATE),
        ("ti", TIME),
        ("ts", TIMESTAMP),
        ("tz", TIMESTAMPTZ),
        ("j", JSONB),
        ("u", UUID),
        ("a", array_of(array_of(SMALLINT))),
        ("st", struct_of(["x", "y"], [UUID, TIMESTAMP])),
        ("m", map_of(VARCHAR, DOUBLE)),
    )
    schema = SinkSchema("s", columns, (0,), SinkType.UPSERT)
    uid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    moment = "2024-02-29 01:02:03.000004"
    row: Row = ["1", "t", "-7", "0.5", "1e300", "1.5", "2.25", "\\x00ff", "2024-02-29", "01:02:03", moment,
                f"{moment}+00", '{"a": 1}', uid, "{{1,2},{3,NULL}}", None, None]  # fmt: skip
    target = lake.target(schema)
    target.open()
    target.deliver(1, [changes_of(schema, [(1, row), (1, ["2", *[None] * 16])])])
    target.deliver(2, [changes_of(schema, [(-1, row), (1, row)])])
    target.check()
    target.close()
    second, first = sorted(lake.read().to_pylist(), key=lambda found: -int(found["id"]))
    assert str(first["n"]) == "1.5000000000"
    assert (first["s"], str(first["p"]), first["y"], first["u"]) == (-7, "2.25", b"\x00\xff", uid)
    assert (first["a"], first["j"], str(first["ti"])) == ([[1, 2], [3, None]], '{"a": 1}', "01:02:03")
    assert first["tz"].isoformat() == "2024-02-29T01:02:03.000004+00:00"
    assert set(second.values()) == {2, None}


@pytest.mark.parametrize("schema", [APPEND, UPSERT], ids=["append", "upsert"])
def test_kills_between_all_steps(lake: Lake, schema: SinkSchema) -> None:
    def changes(epoch: int) -> list[Any]:
        rows: list[tuple[int, Row]] = [(1, [str(epoch), f"row {n}", str(n)]) for n in range(2)]
        if schema is UPSERT and epoch > 1:
            rows += [
                (-1, [str(epoch - 1), "row 0", "0"]),
                (-1, [str(epoch - 1), "row 1", "1"]),
                (1, [str(epoch - 1), "z", "1"]),
            ]
        return [changes_of(schema, rows)]

    def check(epoch: int) -> None:
        if schema is APPEND:
            expected = [(past, f"row {n}", str(n)) for past in range(1, epoch + 1) for n in range(2)]
        else:
            old = [(past, "z", "1") for past in range(1, epoch)]
            expected = [*old, (epoch, "row 0", "0"), (epoch, "row 1", "1")]
        assert lake.rows() == expected

    assert kill_everywhere(partial(target_of, lake.options, schema), changes, check, step=2) >= 4


def test_a_zombie_cannot_commit_an_epoch_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has looked before the other one commits: its own commit must fail, and its next look finds the epoch."""
    changes = [changes_of(APPEND, [(1, ["1", "a", "x"])])]
    zombie, other = lake.target(APPEND), lake.target(APPEND)
    zombie.open()
    other.open()
    table: Any = vars(zombie)["_table"]
    look = "refresh" if lake.options["connector"] == "iceberg" else "update_incremental"
    refresh = getattr(type(table), look)

    def refresh_and_wait(self: Any) -> Any:
        found = refresh(self)
        if self is table:
            other.deliver(1, changes)
        return found

    monkeypatch.setattr(type(table), look, refresh_and_wait)
    with pytest.raises(TargetUnavailable):
        zombie.deliver(1, changes)
    monkeypatch.undo()
    zombie.deliver(1, changes)
    assert lake.rows() == [(1, "a", "x")]


def test_errors(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterValue, match="unknown option"):
        target_of({**lake.options, "colour": "red"}, APPEND)
    with pytest.raises(FeatureNotSupported, match="debezium"):
        lake.target(SinkSchema("s", COLUMNS, (0,), SinkType.DEBEZIUM))
    with pytest.raises(UndefinedTable):
        target_of({**lake.options, "create_table_if_not_exists": "false"}, APPEND).check()
    lake.target(APPEND).open()
    fewer = SinkSchema("s", (*COLUMNS, ("more", BIGINT)), (), SinkType.APPEND_ONLY)
    with pytest.raises(SqlError, match='column "more" does not exist'):
        lake.target(fewer).check()
    other = SinkSchema("s", (("id", VARCHAR), *COLUMNS[1:]), (), SinkType.APPEND_ONLY)
    with pytest.raises(SqlError, match='column "id" is of type string, but of type int64'):
        lake.target(other).check()


@pytest.mark.parametrize("connector", ["iceberg", "deltalake"])
def test_what_does_not_answer_is_unavailable(connector: str) -> None:
    pytest.importorskip(connector.replace("iceberg", "pyiceberg"), reason="make test-connectors installs it")
    s3 = {
        "s3.access.key": "me",
        "s3.secret.key": "hunter2",
        "s3.region": "us-east-1",
        "s3.endpoint": "http://127.0.0.1:1",
    }
    options = {
        "iceberg": {"catalog.type": "rest", "catalog.uri": "http://127.0.0.1:1", "warehouse.path": "s3://b/w",
                    "catalog.credential": "hunter2", "database.name": "db", "table.name": "t", **s3},
        "deltalake": {"location": "s3a://b/t", **s3},
    }[connector]  # fmt: skip
    target = target_of({"connector": connector, **options}, APPEND)
    started = time.monotonic()
    with pytest.raises(TargetUnavailable) as raised:
        target.check()
    assert time.monotonic() - started < 5
    assert "hunter2" not in raised.value.message
