"""The example of docs/connectors/mysql-cdc.md, with a database of its own."""

from __future__ import annotations

import re
from pathlib import Path

from tests.connectors.mysql_cdc.upstream import Upstream
from tests.meta.conftest import Server

PAGE = Path(__file__).parents[3] / "docs" / "connectors" / "mysql-cdc.md"


def test_the_example_of_the_page(server: Server, upstream: Upstream) -> None:
    (example,) = re.findall(r"^```SQL\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    upstream.run(
        "CREATE TABLE customers (id bigint PRIMARY KEY, name text, town text)",
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer bigint, amount numeric(10, 2))",
        "INSERT INTO customers VALUES (1, 'Ann', 'Ulm'), (2, 'Bob', NULL)",
        "INSERT INTO orders VALUES (1, 1, 2.50)",
    )
    here = {"3306": str(upstream.server.port), "'shop'": f"'{upstream.name}'", "'shop.": f"'{upstream.name}.",
            "password = 'secret', ": ""}  # fmt: skip
    for written, meant in here.items():
        assert written in example
        example = example.replace(written, meant)
    client = server.client()
    client.run(example)
    upstream.run("INSERT INTO orders VALUES (2, 2, 1.00), (3, 1, 0.50)")
    assert client.run("FLUSH; SELECT name, total::varchar FROM revenue ORDER BY name") == [
        ("Ann", "3.00"),
        ("Bob", "1.00"),
    ]
