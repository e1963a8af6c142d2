"""`risingpy check`: a sound directory passes, and each kind of damage is reported."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb
import pytest
from click.testing import CliRunner

from risingpy.cli import main
from risingpy.errors import SqlError
from risingpy.meta.database import Database
from risingpy.meta.recovery.check import check
from risingpy.storage.engine.shard_store import shard_directory
from risingpy.storage.log.write_ahead_log import log_directory
from tests.meta.conftest import Server

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR, n INT)"
VIEW = "CREATE MATERIALIZED VIEW m AS SELECT n, count(*) AS c, max(id) AS last FROM t GROUP BY n"


@pytest.fixture
def directory(server: Server, tmp_path: Path) -> Path:
    """A stopped database with a table, a view of it, a dropped table, and a key too long for LMDB."""
    client = server.client()
    client.run(TABLE)
    client.run(VIEW)
    client.run("CREATE TABLE long (name VARCHAR PRIMARY KEY)")
    client.run("CREATE TABLE gone (a INT)")
    client.run("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 1), (3, NULL, 2), (4, 'd', 2)")
    client.run("INSERT INTO gone VALUES (1)")
    client.run(f"INSERT INTO long VALUES ('{'x' * 2000}')")
    client.run("DELETE FROM t WHERE id = 4")
    client.run("FLUSH")
    client.run("DROP TABLE gone")
    server.stop()
    server.stop = lambda: None  # type: ignore[method-assign]  # the fixture's own end stops it again
    return tmp_path / "data"


@contextmanager
def written(directory: Path, shard: int, database: bytes) -> Iterator[lmdb.Transaction]:
    """A write behind the store's back."""
    environment = lmdb.open(str(shard_directory(directory, shard, 2)), max_dbs=8, map_size=1 << 30)
    with environment.begin(environment.open_db(database), write=True) as transaction:
        yield transaction
    environment.close()


def rows_of(transaction: lmdb.Transaction) -> list[tuple[bytes, bytes]]:
    return [(bytes(key), bytes(value)) for key, value in transaction.cursor()]


def test_a_sound_directory_passes(directory: Path) -> None:
    report = check(directory)
    assert report.problems == ()
    assert report.rows > 3
    result = CliRunner().invoke(main, ["check", "--data-dir", str(directory)])
    assert result.exit_code == 0
    assert result.output.endswith(": no problems\n")


def lose(transaction: lmdb.Transaction) -> None:
    transaction.delete(rows_of(transaction)[0][0])


def cut(transaction: lmdb.Transaction) -> None:
    key, value = next((k, v) for k, v in rows_of(transaction) if len(v) > 4)
    transaction.put(key, value[:-3])


def flip(transaction: lmdb.Transaction) -> None:
    key, value = rows_of(transaction)[0]
    transaction.put(key, value[:-1] + bytes([value[-1] ^ 1]))


def move(transaction: lmdb.Transaction) -> None:
    key, value = rows_of(transaction)[0]
    transaction.delete(key)
    transaction.put(key[:4] + bytes([key[4], key[5] ^ 1]) + key[6:], value)


def invent(transaction: lmdb.Transaction) -> None:
    transaction.put(b"\0\0\0\7\0\0", b"")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lose, "rows where"),
        (cut, "cannot be decoded"),
        (flip, "not what was written"),
        (move, "does not belong to"),
        (invent, "no relation has it"),
    ],
)
def test_damage_of_rows_is_told(directory: Path, damage: Callable[[lmdb.Transaction], None], told: str) -> None:
    with written(directory, 0, b"rows") as transaction:
        damage(transaction)
    problems = check(directory).problems
    assert any(told in problem for problem in problems), problems
    result = CliRunner().invoke(main, ["check", "--data-dir", str(directory)])
    assert result.exit_code == 1
    assert told in result.output


def test_damage_of_undo_records_is_told(directory: Path) -> None:
    with written(directory, 0, b"undo") as transaction:
        key, value = rows_of(transaction)[0]
        transaction.put(key, b"XX" + value[2:])
    assert any("undo record" in problem for problem in check(directory).problems)


def test_damage_of_the_log_is_told(server: Server, tmp_path: Path) -> None:
    server.stop()
    server.stop = lambda: None  # type: ignore[method-assign]
    for segment in log_directory(tmp_path / "data").iterdir():
        segment.write_bytes(b"\0" * 100)
    assert any(problem.startswith("log: ") for problem in check(tmp_path / "data").problems)


def test_what_is_no_data_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SqlError, match="no data directory"):
        check(tmp_path)
    result = CliRunner().invoke(main, ["check", "--data-dir", str(tmp_path)])
    assert result.exit_code == 1
    assert "no data directory" in result.output


def test_a_running_server_is_left_alone(server: Server, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["check", "--data-dir", str(tmp_path / "data")])
    assert result.exit_code == 1
    assert "in use by another server" in result.output


def cut_to(size: int) -> Callable[[Path], None]:
    return lambda file: os.truncate(file, size)


@pytest.mark.parametrize("store", ["meta", "shards/1-of-2"])
@pytest.mark.parametrize(
    "damage",
    [cut_to(0), cut_to(3 * 4096), cut_to(100), Path.unlink, lambda file: shutil.rmtree(file.parent)],
    ids=["empty", "cut", "no header", "no file", "no directory"],
)
def test_a_store_that_is_not_whole_is_refused_in_a_sentence(
    directory: Path, store: str, damage: Callable[[Path], None]
) -> None:
    damage(directory / store / "data.mdb")
    try:
        told = check(directory).problems
    except SqlError as error:
        told = (error.message,)
    assert len(told) == 1
    assert str(directory) in told[0]
    with pytest.raises(SqlError) as caught:
        Database(directory, parallelism=2)
    assert caught.value.sqlstate in ("XX001", "58030"), caught.value
    assert str(directory) in caught.value.message
