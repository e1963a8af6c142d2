"""Views of file sources: every row once, whole files only, numbers as they stand in the file."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from tests.meta.conftest import Server


def write_bids(directory: Path, name: str, prices: list[int]) -> None:
    table = pa.table({"auction": [1] * len(prices), "price": prices})
    with pa.OSFile(str(directory / name), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def test_every_view_of_a_source_has_all_of_its_rows(server: Server, tmp_path: Path) -> None:
    client = server.client()
    write_bids(tmp_path, "1.arrow", [1, 2])
    client.run(
        f"CREATE SOURCE bid (auction BIGINT, price BIGINT) WITH (connector = 'file', path = '{tmp_path}/*.arrow')"
    )
    view = "CREATE MATERIALIZED VIEW {} AS SELECT auction, count(*) AS n, sum(price) AS total FROM bid GROUP BY auction"
    client.run(view.format("first"))
    assert client.run("SELECT n, total FROM first") == [(2, 3)]
    client.run(view.format("second"))
    assert client.run("SELECT n, total FROM second") == [(2, 3)]
    write_bids(tmp_path, "2.arrow", [10])
    assert client.run("FLUSH; SELECT n, total FROM first") == [(3, 13)]
    server.restart()
    client = server.client()
    assert client.run("SELECT n, total FROM second") == [(3, 13)]
    client.run("DROP MATERIALIZED VIEW first; DROP MATERIALIZED VIEW second")
    client.run(view.format("third"))
    assert client.run("SELECT n, total FROM third") == [(3, 13)]


def test_numbers_of_a_source_keep_their_scale(server: Server, tmp_path: Path) -> None:
    client = server.client()
    prices = pa.array([Decimal("1.50"), None, Decimal("-0.05")])
    table = pa.table({"price": prices, "weight": [0.5, 1e30, None], "text": ["1.10", "NaN", "7"]})
    with pa.OSFile(str(tmp_path / "1.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    client.run(
        "CREATE SOURCE s (price NUMERIC, weight NUMERIC, text NUMERIC)"
        f" WITH (connector = 'file', path = '{tmp_path}/*.arrow')"
    )
    client.run("CREATE MATERIALIZED VIEW v AS SELECT price, weight, text FROM s")
    assert client.run("SELECT price::varchar, weight::varchar, text::varchar FROM v ORDER BY text") == [
        ("1.50", "0.5", "1.10"), ("-0.05", None, "7"), (None, "1000000000000000000000000000000", "NaN"),
    ]  # fmt: skip


def test_a_source_file_that_is_being_written(server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is left out until it is whole, and neither other files nor other views wait for it."""
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY)")
    client.run(
        f"CREATE SOURCE bid (auction BIGINT, price BIGINT) WITH (connector = 'file', path = '{tmp_path}/*.arrow')"
    )
    client.run("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM bid")
    (tmp_path / "1.arrow").write_bytes(b"ARROW1")
    write_bids(tmp_path, "2.arrow", [1, 2])
    client.run("INSERT INTO t VALUES (1)")
    assert client.run("FLUSH; SELECT n FROM v") == [(2,)]
    assert caplog.text.count("could not read source file") == 1
    write_bids(tmp_path, "1.arrow", [3])
    assert client.run("FLUSH; SELECT n FROM v") == [(3,)]
