"""Tables that copy MariaDB's: its rows, then its changes, whatever they are."""

from __future__ import annotations

import threading
import time
from decimal import Decimal
from typing import Any

import pytest

from risingpy.errors import SqlError
from tests.connectors.mysql_cdc.upstream import Upstream, follow, has_all, until
from tests.meta.conftest import Server

KINDS = """
    id bigint PRIMARY KEY, t1 tinyint, y year, t2 smallint unsigned, t3 mediumint, m3 mediumint unsigned,
    i4 int, u4 int unsigned, u8 bigint unsigned, f float, d double, n decimal(30,10), n2 decimal(5,2), n3 decimal(9,0),
    n4 decimal(10,10), day date, at time, at3 time(3), dt datetime, dt6 datetime(6), ts timestamp NULL,
    ts4 timestamp(4) NULL, c char(4), v varchar(20), long_v varchar(400), t text, lat varchar(20) CHARACTER SET latin1,
    big longtext, e enum('a','b,"c'), s set('x','y','z'), by2 varbinary(10), bl blob, fix binary(3), j json,
    b1 bit(1), b12 bit(12)
"""
VALUES = [
    """(1, -5, 2024, 65535, -8388608, 16777215, -2147483648, 4294967295, 18446744073709551615, 0.1, 0.1,
      12345678901234567890.0123456789, -1.05, 999999999, 0.0000000001, '2024-02-29', '12:34:56', '-01:02:03.45',
      '2024-01-01 00:00:01', '2024-06-01 12:00:00.000001', '2024-06-01 12:00:00', '1999-12-31 23:59:59.1234',
      'ab', 'grüße', repeat('ß', 300), 'text''s "q" \\\\ \\n', 'größe', repeat('x', 70000), 'b,"c', 'x,z',
      x'00ff', x'de', 'abc', '{"a": [1, null]}', 1, 2049)""",
    f"(2{', NULL' * 35})",
    """(3, 127, 0, 0, 8388607, 0, 0, 0, 0, -1.5e30, -1.7e308, -0.0000000001, 0, -1, -0.9999999999, '0001-01-01',
      '00:00:00', '00:00:00', '1000-01-01 00:00:00', '9999-12-31 23:59:59.999999', '1970-01-01 00:00:01',
      '2038-01-19 03:14:07.9999', '', '', '', '', '', '', 'a', '', '', '', '', '[]', 0, 0)""",
]


def shown(value: Any) -> Any:
    """A value of either driver, to be compared."""
    if isinstance(value, float):
        return float(f"{value:.5e}")
    return value


@pytest.mark.on_spark
def test_a_copy_has_the_rows_and_follows_the_changes(server: Server, upstream: Upstream) -> None:
    upstream.run(
        "CREATE TABLE t (id int PRIMARY KEY, grp int, v text)",
        "INSERT INTO t SELECT seq, seq % 5, concat('v', seq) FROM seq_1_to_1000",
    )
    client = follow(server, upstream, "t")
    assert client.run("SELECT count(*), sum(id) FROM t") == [(1000, 500500)]
    client.run("CREATE MATERIALIZED VIEW v AS SELECT grp, count(*) AS n, max(v) AS last FROM t GROUP BY grp")
    upstream.run(
        "UPDATE t SET grp = 9 WHERE id <= 10", "DELETE FROM t WHERE id > 990", "UPDATE t SET id = -id WHERE id = 50",
        "INSERT INTO t VALUES (2000, 9, NULL), (2001, NULL, '')",
        "BEGIN", "INSERT INTO t VALUES (5000, 1, 'no')", "ROLLBACK",
        "BEGIN", "INSERT INTO t VALUES (5001, 1, 'yes')", "SAVEPOINT s", "INSERT INTO t VALUES (5002, 1, 'no')",
        "ROLLBACK TO s", "COMMIT",
    )  # fmt: skip
    has_all(client, upstream, "SELECT * FROM t ORDER BY id")
    grouped = "SELECT grp, count(*) AS n, max(v) AS last FROM t GROUP BY grp ORDER BY grp IS NOT NULL, grp"
    assert client.run("SELECT * FROM v ORDER BY grp IS NOT NULL, grp") == upstream.run(grouped)
    server.restart()
    client = server.client()
    upstream.run("INSERT INTO t SELECT seq, seq % 5, 'later' FROM seq_3001_to_3100", "FLUSH BINARY LOGS")
    upstream.run("DELETE FROM t WHERE id = 3001")
    has_all(client, upstream, "SELECT * FROM t ORDER BY id")


def test_values_of_every_type(server: Server, upstream: Upstream) -> None:
    """The snapshot and the stream give the same, and what MariaDB shows."""
    for name in ("early", "late"):
        upstream.run(f"CREATE TABLE {name} ({KINDS})")
    insert = [f"INSERT INTO early VALUES {row}" for row in VALUES]
    upstream.run("SET time_zone = '+00:00'", *insert)
    client = follow(server, upstream, "early", "late")
    upstream.run("SET time_zone = '+00:00'", *(text.replace("early", "late") for text in insert))
    client.run("FLUSH")
    assert client.run("SELECT * FROM rw_catalog.rw_source_errors WHERE reason NOT LIKE '%time%'") == []
    columns = [column.split()[0] for column in KINDS.replace("\n", " ").split(", ")]
    columns = [column for column in columns if column not in ("at3",)]
    listed = ", ".join(columns)
    early = client.run(f"SELECT {listed} FROM early ORDER BY id")
    assert client.run(f"SELECT {listed} FROM late ORDER BY id") == early
    assert [row[0] for row in early] == [2, 3]  # a negative time of day does not fit
    upstream.run("UPDATE early SET at3 = '23:59:59.999'", "UPDATE late SET at3 = '23:59:59.999'")
    client.run("FLUSH")
    first, _, third = client.run(f"SELECT {listed} FROM late ORDER BY id")
    row = dict(zip(columns, first, strict=True))
    assert row["u8"] == Decimal(18446744073709551615) and row["t2"] == 65535 and row["m3"] == 16777215
    assert (row["t1"], row["y"], row["t3"], row["i4"], row["u4"]) == (-5, 2024, -8388608, -2147483648, 4294967295)
    assert row["n"] == Decimal("12345678901234567890.0123456789") and row["n2"] == Decimal("-1.05")
    assert row["n3"] == 999999999 and row["n4"] == Decimal("0.0000000001")
    assert (row["c"], row["v"], row["long_v"], row["lat"]) == ("ab", "grüße", "ß" * 300, "größe")
    assert (row["e"], row["s"], row["b1"], row["b12"], row["t"]) == ('b,"c', "x,z", True, 2049, 'text\'s "q" \\ \n')
    assert (bytes(row["by2"]), bytes(row["bl"]), bytes(row["fix"])) == (b"\0\xff", b"\xde", b"abc")
    assert len(row["big"]) == 70000 and shown(row["f"]) == 0.1 and row["d"] == 0.1
    assert client.run("SELECT dt6::text, ts::text, ts4::text, day::text, at::text, j::text FROM late WHERE id = 1") == [
        ("2024-06-01 12:00:00.000001", "2024-06-01 12:00:00+00", "1999-12-31 23:59:59.1234+00", "2024-02-29",
         "12:34:56", '{"a": [1, null]}')
    ]  # fmt: skip
    row = dict(zip(columns, third, strict=True))
    assert row["n"] == Decimal("-1e-10") and row["n4"] == Decimal("-0.9999999999") and row["n3"] == -1
    assert (row["e"], row["s"], row["c"], row["d"], row["b1"], row["y"]) == ("a", "", "", -1.7e308, False, 0)
    assert client.run("SELECT * FROM late WHERE id = 2") == client.run("SELECT * FROM early WHERE id = 2")


def test_truncate_is_part_of_the_order(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t SELECT seq FROM seq_1_to_100")
    client = follow(server, upstream, "t")
    upstream.run("INSERT INTO t VALUES (500)", "TRUNCATE t", "INSERT INTO t VALUES (7)")
    has_all(client, upstream, "SELECT id FROM t")


def test_tables_that_come_later_are_as_far_as_the_others(server: Server, upstream: Upstream) -> None:
    """Each is made while a writer changes all of them together; from its first moment it agrees with the others."""
    for name in ("a", "b", "c"):
        upstream.run(f"CREATE TABLE {name} (id int PRIMARY KEY, n int)", f"INSERT INTO {name} VALUES (1, 0)")
    client = follow(server, upstream, "a")
    stopping, errors = threading.Event(), []

    def write() -> None:
        with upstream.connect() as connection, connection.cursor() as cursor:
            number = 0
            while not stopping.is_set():
                number += 1
                cursor.execute("BEGIN")
                for name in ("b", "a", "c"):
                    cursor.execute(f"UPDATE {name} SET n = {number}")
                    cursor.execute(f"INSERT INTO {name} VALUES ({number + 1}, 0)")
                cursor.execute("COMMIT")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for name in ("b", "c"):
            time.sleep(0.3)
            client.run(f"CREATE TABLE {name} (*) FROM my TABLE '{upstream.name}.{name}'")
            for _ in range(20):
                errors += client.run(
                    f"SELECT a.n, x.n FROM (SELECT max(n) AS n, count(*) AS k FROM a) a,"
                    f" (SELECT max(n) AS n, count(*) AS k FROM {name}) x WHERE a.n <> x.n OR a.k <> x.k"
                )
    finally:
        stopping.set()
        writer.join()
    assert not errors
    for name in ("a", "b", "c"):
        has_all(client, upstream, f"SELECT * FROM {name} ORDER BY id")


def test_a_snapshot_under_a_lock_as_mysql_needs_it(
    server: Server, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pymysql.cursors import SSCursor

    from risingpy.connectors.mysql_cdc import snapshot

    class NoPosition(SSCursor):  # type: ignore[misc]
        def fetchall(self) -> Any:
            return [row for row in super().fetchall() if not str(row[0]).startswith("Binlog_snapshot")]

    monkeypatch.setattr(snapshot, "SSCursor", NoPosition)
    upstream.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    client = follow(server, upstream, "t")
    upstream.run("INSERT INTO t VALUES (2)")
    has_all(client, upstream, "SELECT id FROM t ORDER BY id")


def test_rows_that_do_not_fit(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE t (id int PRIMARY KEY, at datetime, n int)")
    upstream.run("SET sql_mode = ''", "INSERT INTO t VALUES (1, '0000-00-00', 1), (2, '2024-01-01', 2)")
    client = server.client()
    client.run(upstream.source())
    client.run("CREATE TABLE t (id int PRIMARY KEY, at timestamp, n int NOT NULL) FROM my TABLE 't'")
    assert client.run("SELECT id FROM t") == [(2,)]
    upstream.run("INSERT INTO t VALUES (3, '2024-01-03', 3)", "UPDATE t SET n = NULL WHERE id = 2")
    upstream.run("UPDATE t SET at = now() WHERE id = 1")
    until(lambda: client.run("SELECT id, n FROM t ORDER BY id") == [(1, 1), (3, 3)])
    assert client.run("SELECT bad_messages, failure FROM rw_catalog.rw_source_lag") == [(2, None)]


def test_refusals(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE k (id int)", "CREATE TABLE m (id int PRIMARY KEY) ENGINE=MyISAM")
    client = server.client()
    with pytest.raises(SqlError, match=r"needs the option database\.name"):
        client.run("CREATE SOURCE s WITH (connector = 'mysql-cdc', hostname = 'h', username = 'u')")
    with pytest.raises(SqlError, match='unknown option "slot'):
        client.run(upstream.source(slot__name="x"))
    with pytest.raises(SqlError, match=r"MySQL at 127\.0\.0\.1:1"):
        client.run(upstream.source(port="1"))
    with pytest.raises(SqlError, match="denied"):
        client.run(upstream.source(username="nobody", password="wrong-secret"))
    upstream.run("SET GLOBAL binlog_row_metadata = NO_LOG")
    try:
        with pytest.raises(SqlError, match="binlog_row_metadata = NO_LOG, but FULL is needed"):
            client.run(upstream.source())
    finally:
        upstream.run("SET GLOBAL binlog_row_metadata = FULL")
    client.run(upstream.source())
    client.run(f"ALTER SOURCE my CONNECTOR WITH (port = '{upstream.server.port}')")
    for table, reason in (("k", "no primary key"), ("m", "not a table of InnoDB"), ("gone", "does not exist")):
        with pytest.raises(SqlError, match=reason):
            client.run(f"CREATE TABLE x (*) FROM my TABLE '{table}'")
