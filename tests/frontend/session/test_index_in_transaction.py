"""A transaction that has written still reads through indexes, and sees its own rows over what they find."""

from __future__ import annotations

from typing import Any

import pytest

from risingpy.storage.engine.storage_table import StorageTable

RULES = ("OVERWRITE", "DO NOTHING", "DO UPDATE IF NOT NULL")
KEYS = [")", *(f", PRIMARY KEY (a, b)) ON CONFLICT {rule}" for rule in RULES)]


@pytest.fixture
def whole_scans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tables that were read as a whole, or between bounds of their keys."""
    scans: list[int] = []
    scan = StorageTable.scan

    def counted(self: StorageTable, columns: Any, within: Any = None) -> Any:
        scans.append(self.schema.table_id)
        return scan(self, columns, within)

    monkeypatch.setattr(StorageTable, "scan", counted)
    return scans


@pytest.mark.parametrize("key", KEYS)
def test_it_gives_what_the_whole_table_gives(client: Any, whole_scans: list[int], key: str) -> None:
    client.run(f"CREATE TABLE o (a int, b int, n int, s varchar{key}")
    client.run("CREATE INDEX i ON o (n DESC); CREATE INDEX j ON o (lower(s)) INCLUDE (a, n, s)")
    client.run("INSERT INTO o SELECT x % 4, x / 4, x % 3, 'S' || x % 5 FROM generate_series(0, 19) AS x; FLUSH")
    client.run("BEGIN; INSERT INTO o VALUES (1, 1, 2, 's0'), (7, 7, NULL, 's1'), (2, 0, 1, NULL), (8, 8, 0, 'S2')")
    client.run("DELETE FROM o WHERE n = 0 AND a = 3; UPDATE o SET n = 0, s = 'new' WHERE b = 2")
    client.run("UPDATE o SET n = n + 1 WHERE n = 1")
    everything = client.run("SELECT a, b, n, s FROM o")
    whole_scans.clear()
    for n in range(4):
        found = client.run(f"SELECT a, b, n, s FROM o WHERE n = {n}")
        assert sorted(found, key=repr) == sorted((row for row in everything if row[2] == n), key=repr)
    for s in ("s0", "s2", "new"):
        found = client.run(f"SELECT a, n FROM o WHERE lower(s) = '{s}'")
        expected = [(row[0], row[2]) for row in everything if str(row[3]).lower() == s]
        assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert whole_scans == []
    client.run("COMMIT")
    assert sorted(client.run("SELECT a, b, n, s FROM o"), key=repr) == sorted(everything, key=repr)


def test_other_tables_are_read_as_ever(client: Any, whole_scans: list[int]) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int); CREATE TABLE u (id int PRIMARY KEY, a int)")
    client.run("CREATE INDEX i ON u (a)")
    client.run("INSERT INTO u VALUES (1, 1), (2, 1), (3, 2); FLUSH; BEGIN; INSERT INTO t VALUES (1, 1)")
    assert sorted(client.run("SELECT id FROM u WHERE a = 1")) == [(1,), (2,)]
    assert whole_scans == []
    client.run("ROLLBACK")


def test_an_index_read_by_its_name_has_what_is_committed(client: Any) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int); CREATE INDEX i ON t (a)")
    client.run("INSERT INTO t VALUES (1, 1); FLUSH")
    client.run("BEGIN; INSERT INTO t VALUES (2, 2)")
    assert client.run("SELECT id FROM i") == [(1,)]
    client.run("COMMIT")
    assert sorted(client.run("SELECT id FROM i")) == [(1,), (2,)]
