"""Views and tables of files: every line once, through restarts, and whatever becomes of the files."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from tests.connectors.stored_files.files import put, put_parquet, until
from tests.meta.conftest import Client, Server

QUERY = "SELECT grp, count(*) AS n, sum(v) AS total, max(id) AS last FROM {} GROUP BY grp"
COLUMNS = "(id BIGINT, grp INT, v NUMERIC)"


def source(root: Path, encoding: str, *, kind: str = "SOURCE s", columns: str = COLUMNS, pattern: str = "*") -> str:
    """CREATE SOURCE of the files below `root`."""
    options = f"connector = 'posix_fs', posix_fs.root = '{root}', match_pattern = '{pattern}'"
    return f"CREATE {kind} {columns} WITH ({options}) FORMAT PLAIN ENCODE {encoding}"


def wait_for(client: Client, query: str) -> None:
    """Until the query, whose answer is true or not, is true."""
    until(lambda: bool(client.run(query)[0][0]))


def write(root: Path, encoding: str, number: int, rows: list[tuple[int, int, str]]) -> None:
    names = ("id", "grp", "v")
    if encoding == "PARQUET":
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        put_parquet(root / f"{number}.parquet", pa.table(columns), rows_of_group=300)
        return
    if encoding == "CSV":
        lines = ["grp,v,id", *(f'{grp},"{v}",{id_}' for id_, grp, v in rows)]
    else:
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    content = "\n".join(lines).encode()
    if number % 2:
        put(root / f"{number}.gz", gzip.compress(content))
    else:
        put(root / "more" / f"{number}.txt", content)


@pytest.mark.on_spark
@pytest.mark.parametrize("encoding", ["CSV", "JSON", "PARQUET"])
def test_three_answers_agree(
    server: Server, tmp_path: Path, encoding: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view before the files, one after them, and the query over a table that was given the same rows.

    An epoch takes a part of a file only.
    """
    monkeypatch.setattr("risingpy.meta.epochs.source_offsets.MOST_MESSAGES", 50)
    chance, root = random.Random(7), tmp_path / "files"
    root.mkdir()
    client = server.client()
    client.run(source(root, encoding) + f"; CREATE MATERIALIZED VIEW before AS {QUERY.format('s')}")
    client.run(f"CREATE TABLE t {COLUMNS}; " + source(root, encoding, kind="TABLE fed"))
    for batch in range(3):
        rows = [(batch * 1000 + k, chance.randrange(5), f"{chance.randrange(1000)}.50") for k in range(700)]
        write(root, encoding, batch, rows)
        client.run("INSERT INTO t VALUES " + ", ".join(map(str, rows)))
        wait_for(client, f"SELECT max(last) / 1000 >= {batch} FROM before")
        wait_for(client, f"SELECT max(id) / 1000 >= {batch} FROM fed")  # its source lists the files at its own times
        if batch == 1:
            server.restart()
            client = server.client()
    client.run(f"CREATE MATERIALIZED VIEW after AS {QUERY.format('s')}; FLUSH")
    expected = sorted(client.run(QUERY.format("t")))
    assert sorted(client.run("SELECT * FROM before")) == expected
    assert sorted(client.run("SELECT * FROM after")) == expected
    assert sorted(client.run(QUERY.format("fed"))) == expected
    assert client.run("SELECT count(DISTINCT _row_id) FROM fed") == [(2100,)]
    assert client.run("SELECT sum(lag), count(failure) FROM rw_source_lag") == [(0, 0)]


def test_what_becomes_of_a_file_that_was_read(server: Server, tmp_path: Path) -> None:
    """It may grow, shrink, vanish and come back: its rows stay, and none comes twice. Also across a restart."""
    root, client = tmp_path / "files", server.client()
    for name in ("grows", "shrinks", "goes"):
        put(root / name, b'{"v": 1}\n{"v": 2}\n')
    client.run(
        source(root, "JSON", columns="(v INT) INCLUDE file AS f") + "; CREATE MATERIALIZED VIEW m AS SELECT * FROM s"
    )
    expected = sorted((v, name) for name in ("grows", "shrinks", "goes") for v in (1, 2))
    assert sorted(client.run("FLUSH; SELECT * FROM m")) == expected
    put(root / "grows", b'{"v": 1}\n{"v": 2}\n{"v": 3}\n')
    put(root / "shrinks", b'{"v": 5}\n')
    (root / "goes").unlink()
    for number in range(2):
        name = f"new{number}"
        put(root / name, b'{"v": 9}\n')
        expected.append((9, name))
        wait_for(client, f"SELECT count(*) >= {len(expected)} FROM m")
        assert sorted(client.run("SELECT * FROM m")) == sorted(expected)
        assert client.run("SELECT count(*) FROM rw_source_lag WHERE lag > 0 OR failure IS NOT NULL") == [(0,)]
        put(root / "goes", b'{"v": 1}\n{"v": 2}\n')
        server.restart()
        client = server.client()


def test_a_file_that_vanishes_in_the_middle(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first part stays, FLUSH does not wait for the rest, and the others are read."""
    monkeypatch.setattr("risingpy.meta.epochs.source_offsets.MOST_MESSAGES", 1)
    root, client = tmp_path / "files", server.client()
    root.mkdir()
    client.run(source(root, "CSV (without_header = true)", columns="(v INT)"))
    client.run("CREATE MATERIALIZED VIEW m AS SELECT * FROM s")
    put(root / "a", b"".join(b"%d\n" % k for k in range(100_000)))
    wait_for(client, "SELECT count(*) > 10 FROM m")
    (root / "a").unlink()
    put(root / "b", b"-1\n")
    until(lambda: client.run("SELECT count(*) FROM m WHERE v = -1") == [(1,)])
    monkeypatch.undo()
    client.run("FLUSH")
    [(rows, last)] = client.run("SELECT count(*), max(v) FROM m WHERE v >= 0")
    assert 10 < rows < 100_000
    assert last == rows - 1


def test_bad_lines_are_kept_apart(server: Server, tmp_path: Path) -> None:
    root, client = tmp_path / "files", server.client()
    put(root / "a.csv", b'id,name\n1,"a, b"\nx,c\n2\n\n3,"d\n4,"e""f"\n5,\xff\n')
    put(root / "b.csv", b"other,names\n1,2\n")
    client.run(source(root, "CSV", columns="(ID INT, name VARCHAR) INCLUDE offset AS o"))
    client.run("CREATE MATERIALIZED VIEW m AS SELECT * FROM s")
    assert client.run("FLUSH; SELECT * FROM m ORDER BY id") == [(1, "a, b", "8"), (3, "d", "24"), (4, 'e"f', "29")]
    found = client.run('SELECT partition, "offset", reason FROM rw_source_errors ORDER BY 1, 2')
    assert found == [
        ("a.csv", 17, 'column "id": invalid input syntax for type integer: "x"'),
        ("a.csv", 21, "1 fields instead of 2"),
        ("a.csv", 38, "invalid byte sequence for encoding UTF8: byte 2"),
        ("b.csv", 12, "the file's header has none of the columns: other,names"),
    ]
    assert client.run("SELECT DISTINCT bad_messages FROM rw_source_lag") == [(4,)]


def test_the_columns_of_parquet_files(server: Server, tmp_path: Path) -> None:
    root, client = tmp_path / "files", server.client()
    put_parquet(
        root / "a.parquet", pa.table({"Id": [1, 2], "tags": [["x"], None], "at": pa.array([0, 1], pa.date32())})
    )
    client.run(source(root, "PARQUET", columns='(*, twice BIGINT AS ("Id" * 2)) INCLUDE file INCLUDE offset'))
    client.run(source(root, "PARQUET", kind="TABLE t", columns="(id INT PRIMARY KEY, missing TEXT)"))
    client.run(source(root, "PARQUET", kind="SOURCE bare", columns=""))
    client.run("CREATE MATERIALIZED VIEW m AS SELECT * FROM s; CREATE MATERIALIZED VIEW n AS SELECT count(*) FROM bare")
    server.restart()
    client = server.client()
    assert client.run('FLUSH; SELECT "Id", tags::varchar, at::varchar, twice FROM m ORDER BY 1') == [
        (1, "{x}", "1970-01-01", 2),
        (2, None, "1970-01-02", 4),
    ]
    assert client.run("SELECT _rw_posix_fs_file, _rw_posix_fs_offset FROM m ORDER BY 2") == [
        ("a.parquet", "0"),
        ("a.parquet", "1"),
    ]
    assert client.run("SELECT * FROM t ORDER BY id") == [(1, None), (2, None)]
    assert client.run("SELECT * FROM n") == [(2,)]


def test_a_value_that_does_not_fit_stops_the_views_and_nothing_else(server: Server, tmp_path: Path) -> None:
    root, client = tmp_path / "files", server.client()
    put_parquet(root / "a.parquet", pa.table({"v": ["1", "x"]}))
    client.run(source(root, "PARQUET", columns="(v INT)") + "; CREATE MATERIALIZED VIEW m AS SELECT * FROM s")
    until(lambda: client.run("SELECT count(failure) FROM rw_source_lag") == [(1,)])
    [(failure,)] = client.run("SELECT failure FROM rw_source_lag")
    assert failure == 'source file "a.parquet": column "v": invalid input syntax for type integer: "x"'
    client.run("CREATE TABLE other (v INT); INSERT INTO other VALUES (1); FLUSH")
    put_parquet(root / "a.parquet", pa.table({"v": ["1", "2"]}))
    until(lambda: client.run("SELECT sum(v) FROM m") == [(3,)])


def test_an_epoch_reads_some_files_only(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait for its end, however many small files there are."""
    monkeypatch.setattr("risingpy.meta.epochs.source_offsets.MOST_SPLITS_IN_TURN", 3)
    root, client = tmp_path / "files", server.client()
    for number in range(10):
        put(root / f"{number}", b'{"v": 1}\n')
    client.run(source(root, "JSON", columns="(v INT)") + "; CREATE MATERIALIZED VIEW m AS SELECT count(*) FROM s")
    assert client.run("FLUSH; SELECT * FROM m") == [(10,)]
    read = [[part.split for part in descriptor.splits] for descriptor in server.runner.ran if descriptor.splits]
    assert read == [["0", "1", "2"], ["3", "4", "5"], ["6", "7", "8"], ["9"]]


def test_a_rate_limit_pauses_and_goes_on(server: Server, tmp_path: Path) -> None:
    root, client = tmp_path / "files", server.client()
    put(root / "a", b'{"v": 1}\n')
    client.run(source(root, "JSON", columns="(v INT)").replace("WITH (", "WITH (source_rate_limit = 0, "))
    client.run("CREATE MATERIALIZED VIEW m AS SELECT * FROM s; FLUSH")
    assert client.run("SELECT * FROM m") == []
    client.run("ALTER SOURCE s SET source_rate_limit = DEFAULT; FLUSH")
    until(lambda: client.run("SELECT * FROM m") == [(1,)])


@pytest.mark.parametrize(
    ("columns", "encoding", "error", "message"),
    [
        ("(v INT) INCLUDE key", "JSON", InvalidParameterValue, 'the posix_fs connector has no "key" to include'),
        ("(*)", "JSON", InvalidParameterValue, "ENCODE JSON has no schema: name the columns"),
        ("(*)", "PARQUET", InvalidParameterValue, 'no file of the posix_fs connector matches "*"'),
        ("(v INT)", "AVRO", FeatureNotSupported, "FORMAT PLAIN ENCODE AVRO is not supported by the posix_fs connector"),
        ("(v INT)", "CSV (without_header = 1)", InvalidParameterValue, 'invalid without_header "1"'),
        ("(v INT)", "CSV (delimiter = '::')", InvalidParameterValue, "the delimiter must be one character"),
        ("(v INT)", "CSV (quote = 'x')", InvalidParameterValue, 'unknown option "quote" of ENCODE CSV'),
    ],
)
def test_what_is_refused(
    server: Server, tmp_path: Path, columns: str, encoding: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as found:
        server.client().run(source(tmp_path, encoding, columns=columns))
    assert str(found.value).startswith(message)
    assert getattr(found.value, "position", None)


def test_messages_have_no_file(server: Server) -> None:
    with pytest.raises(InvalidParameterValue, match='the datagen connector has no "file" to include'):
        server.client().run(
            "CREATE SOURCE d (v INT) INCLUDE file WITH (connector = 'datagen') FORMAT PLAIN ENCODE JSON"
        )
