"""Generators over SQL: on each engine, after a restart, after kill -9, and the examples of the pages."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from risingpy.errors import InvalidParameterValue
from risingpy.server_process import ServerProcess
from tests.meta.conftest import Server

PAGES = Path(__file__).parents[3] / "docs" / "connectors"
NUMBERS = """
    CREATE SOURCE numbers (id BIGINT, grp INT, t VARCHAR, twice BIGINT AS (id * 2)) WITH (
      connector = 'datagen', fields.id.kind = 'sequence', fields.id.start = '1', fields.id.end = '1000',
      fields.grp.min = 0, fields.grp.max = 4, datagen.rows.per.second = 100000, datagen.split.num = 2
    ) FORMAT PLAIN ENCODE JSON"""


@pytest.mark.on_spark
def test_a_view_has_each_row_once(server: Server) -> None:
    client = server.client()
    client.run(NUMBERS)
    view = "CREATE MATERIALIZED VIEW {} AS SELECT grp, count(*) AS n, sum(twice) AS s FROM numbers GROUP BY grp"
    client.run(view.format("first"))
    while client.run("FLUSH; SELECT sum(n) FROM first") != [(1000,)]:
        time.sleep(0.01)
    assert client.run("SELECT sum(s), count(*) FROM first") == [(1_001_000, 5)]
    before = client.run("SELECT * FROM first ORDER BY grp")
    server.restart()
    client = server.client()
    client.run(view.format("second"))
    assert client.run("FLUSH; SELECT * FROM second ORDER BY grp") == before
    assert client.run("SELECT * FROM first ORDER BY grp") == before


@pytest.mark.on_spark
def test_the_example_of_nexmarks_page(server: Server) -> None:
    """Three sources of one beginning are one stream: bids find their auctions."""
    run_example(server, "nexmark")
    client = server.client()
    assert client.run("FLUSH; SELECT sum(bids) FROM bids_by_category") == [(45_994,)]
    server.restart()
    assert server.client().run("FLUSH; SELECT count(*), sum(bids) FROM bids_by_category") == [(5, 45_994)]


def test_what_does_not_fit_is_refused(server: Server) -> None:
    client = server.client()
    for formed in ("FORMAT UPSERT ENCODE JSON", "FORMAT PLAIN ENCODE CSV"):
        with pytest.raises(InvalidParameterValue, match="gives rows"):
            client.run(NUMBERS.replace("FORMAT PLAIN ENCODE JSON", formed))
    with pytest.raises(InvalidParameterValue, match="of no column"):
        client.run(NUMBERS.replace("fields.grp.min", "fields.group.min"))


def test_kills_lose_and_repeat_nothing(tmp_path: Path) -> None:
    for number in range(2):
        server = ServerProcess(tmp_path / "data")
        with server.connect() as connection:
            if number == 0:
                connection.execute(NUMBERS.replace("'1000'", "'1000000000'").replace("100000,", "5000,"))
                connection.execute(
                    "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, max(id) AS last, sum(id) AS s FROM numbers"
                )
            time.sleep(1)
            connection.execute("FLUSH")
            ((n, last, total),) = connection.execute("SELECT n, last, s FROM v").fetchall()
        assert n == last and total == n * (n + 1) // 2 and n > 3000
        server.kill()


def test_the_example_of_datagens_page(server: Server) -> None:
    client = server.client()
    run_example(server, "datagen")
    while client.run("FLUSH; SELECT count(*) FROM busiest") != [(5,)]:
        time.sleep(0.05)
    client.run("DROP MATERIALIZED VIEW busiest")


def run_example(server: Server, page: str) -> None:
    (example,) = re.findall(r"^```SQL\n(.*?)^```$", (PAGES / f"{page}.md").read_text(), re.DOTALL | re.MULTILINE)
    server.client().run(example)
