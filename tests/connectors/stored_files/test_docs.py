"""The example of docs/connectors/files.md, with files of its own."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from tests.connectors.stored_files.files import put
from tests.meta.conftest import Server

PAGE = Path(__file__).parents[3] / "docs" / "connectors" / "files.md"


def test_the_example_of_the_page(server: Server, tmp_path: Path) -> None:
    (example,) = re.findall(r"^```SQL\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    put(tmp_path / "a.csv", b"id,customer,amount\n1,ann,1.50\n2,bob,2\n")
    put(tmp_path / "b.csv.gz", gzip.compress(b"amount,id,customer\n3,3,ann\n"))
    client = server.client()
    client.run(example.replace("/data/orders", str(tmp_path)))
    answer = "SELECT customer, n, total::varchar FROM orders_by_customer ORDER BY customer"
    assert client.run(f"FLUSH; {answer}") == [("ann", 2, "4.50"), ("bob", 1, "2")]
