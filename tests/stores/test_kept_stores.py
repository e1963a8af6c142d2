"""All later versions open every store that a version wrote: its rows are there, and its views go on.

`build.py` makes a store of the present formats. Existing stores are never rebuilt.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from risingpy.formats import PLANS
from risingpy.meta.recovery.check import check
from risingpy.meta.recovery.upgrade import found_formats, upgrade
from tests.meta.conftest import Client, Server
from tests.stores.build import CONTENTS, DATA, HERE, name_of_present
from tests.stores.contents import contents, in_order, queries_of_views

STORES = sorted(HERE.glob("*.tar.xz"))
CHANGES = (
    "INSERT INTO orders SELECT i, i % 20, timestamp '2024-02-01', i FROM generate_series(900, 950) i",
    "UPDATE orders SET amount = amount + 50 WHERE id % 5 = 0",
    "DELETE FROM orders WHERE id % 6 = 0",
    "DELETE FROM customers WHERE id < 4",
    "INSERT INTO customers (id, name, region) VALUES (3, 'back', 'east')",
    "UPDATE kinds SET n = n * 2, t = 'changed', a = ARRAY[7] WHERE id = 1",
    "INSERT INTO kinds (id, n, b) VALUES (9, 1.500, true)",
    "DELETE FROM keyless WHERE v = 1",
    "INSERT INTO clicks SELECT at + interval '40 seconds', 'page 9', 1 FROM clicks",
    "INSERT INTO events VALUES ('2024-01-01 01:00:00', 'a')",
    "INSERT INTO latest VALUES (1, 'older', 1), (2, 'newer', 7)",
    "INSERT INTO computed (id, w, h) VALUES (3, 7, 7)",
    "UPDATE shop.altered SET b = b + 1, s = ROW(0.5, 'again') WHERE id > 25",
)


@pytest.fixture(params=STORES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A directory with a kept store and what it held."""
    with tarfile.open(request.param) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path


def holds_what_its_queries_say(client: Client) -> None:
    client.run("FLUSH")
    for name, query in queries_of_views(client).items():
        expected = client.run(f"SELECT * FROM ({query}) AS q")
        assert in_order(client.run(f"SELECT * FROM {name}")) == in_order(expected), name


@pytest.mark.parametrize("upgraded", [False, True], ids=["at once", "upgraded"])
def test_a_store_is_opened_by_later_versions(store: Path, upgraded: bool) -> None:
    if upgraded:
        upgrade(store / DATA, None)
    server = Server(store / DATA)
    try:
        client = server.client()
        assert contents(client) == json.loads((store / CONTENTS).read_text())
        for change in CHANGES:
            client.run(change)
        holds_what_its_queries_say(client)
        server.restart()
        client = server.client()
        holds_what_its_queries_say(client)
        client.run("ALTER TABLE orders ADD COLUMN more int DEFAULT 1")
        client.run("CREATE MATERIALIZED VIEW late AS SELECT more, count(*) AS n FROM orders GROUP BY more")
        client.run("DROP MATERIALIZED VIEW hash_agg CASCADE")
        holds_what_its_queries_say(client)
    finally:
        server.stop()
    found = found_formats(store / DATA)
    assert found.is_present and [each.versions for each in found.formats if each.format is PLANS] == [(PLANS.written,)]
    assert check(store / DATA).problems == ()


def test_there_is_a_store_of_the_present_formats() -> None:
    """Whoever changes a format reads the older ones too, and keeps a store: `python -m tests.stores.build`."""
    assert name_of_present() in [path.name.removesuffix(".tar.xz") for path in STORES]
