"""Connectors of another package, which is installed beside RisingPy: a source that sends by itself, and a sink."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from risingpy.errors import SqlError
from tests.meta.conftest import Server, server

__all__ = ["server"]

MODULE = '''
    import json
    from pathlib import Path

    import pyarrow as pa

    from risingpy.connectors.pushed import UpstreamColumn, UpstreamDescription
    from risingpy.types import BIGINT, VARCHAR


    class LetterSource:
        """Its table has a row for each letter of the option `letters`."""

        name = "letters"

        def __init__(self, options):
            self.letters = options["letters"]

        def options_at_creation(self):
            return {}

        def check(self, *, is_followed=False): ...

        def describe(self, upstream):
            columns = (UpstreamColumn("id", BIGINT, "n", True), UpstreamColumn("v", VARCHAR, "c", False))
            return UpstreamDescription(upstream, columns, ("id",))

        def run(self, rows, stopping):
            while not stopping.wait(0.02):
                for table in rows.tables():
                    if table.is_new:
                        group = rows.group()
                        numbers = range(len(self.letters))
                        ones = pa.array([1] * len(self.letters), pa.int8())
                        group.add(table.table_id, pa.table({"op": ones, "c0": list(numbers), "c1": list(self.letters)}))
                        group.commit("1")
                        rows.taken_in(table.table_id)
                rows.progress(1, 1, rows.asked())

        def forget(self): ...


    class LineSink:
        """At least once: a line of JSON for each change."""

        keeps_epochs = False

        def __init__(self, options, schema):
            self.path = Path(options["path"])

        def check(self): ...

        def open(self): ...

        def deliver(self, epoch, changes):
            with self.path.open("a") as file:
                for table in changes:
                    for row in table.to_pylist():
                        print(json.dumps(row), file=file)

        def close(self): ...
'''
ENTRY_POINTS = """
    [risingpy.pushed_connectors]
    letters = theirs:LetterSource

    [risingpy.sinks]
    lines = theirs:LineSink
    broken = theirs:NotThere
"""


@pytest.fixture
def their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the package, as pip would install it."""
    (tmp_path / "theirs.py").write_text(dedent(MODULE))
    information = tmp_path / "theirs-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(dedent(ENTRY_POINTS))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_rows_go_from_their_source_to_their_sink(server: Server, their_package: Path) -> None:
    client = server.client()
    client.run("CREATE SOURCE s WITH (connector = 'letters', letters = 'abc')")
    client.run("CREATE TABLE t (*) FROM s TABLE 'any'")
    assert client.run("SELECT * FROM t ORDER BY id") == [(0, "a"), (1, "b"), (2, "c")]
    written = their_package / "written"
    client.run(
        "CREATE SINK k AS SELECT id, v FROM t WITH (connector = 'lines', type = 'upsert', primary_key = 'id',"
        f" path = '{written}')"
    )
    client.run("FLUSH; WAIT SINK k")
    rows = sorted((json.loads(line) for line in written.read_text().splitlines()), key=lambda row: row["c0"])
    assert rows == [{"op": 1, "c0": k, "c1": letter} for k, letter in enumerate("abc")]
    server.restart()
    assert server.client().run("FLUSH; SELECT count(*) FROM t") == [(3,)]


@pytest.mark.usefixtures("their_package")
def test_mistakes_name_what_there_is(server: Server) -> None:
    client = server.client()
    with pytest.raises(SqlError, match='unknown connector "other"') as raised:
        client.run("CREATE SOURCE s WITH (connector = 'other')")
    assert raised.value.hint is not None and "letters" in raised.value.hint
    client.run("CREATE TABLE t (id int PRIMARY KEY)")
    with pytest.raises(SqlError, match='unknown connector "other"') as raised:
        client.run("CREATE SINK k FROM t WITH (connector = 'other', type = 'upsert', primary_key = 'id')")
    assert raised.value.hint is not None and "lines" in raised.value.hint
    with pytest.raises(SqlError, match="the broken connector of the package theirs cannot be imported"):
        client.run("CREATE SINK k FROM t WITH (connector = 'broken', type = 'upsert', primary_key = 'id')")
    with pytest.raises(SqlError, match="no FORMAT"):
        client.run(
            "CREATE SINK k FROM t WITH (connector = 'lines', primary_key = 'id', path = 'x') FORMAT UPSERT ENCODE JSON"
        )
