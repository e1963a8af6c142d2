"""timestamp(n) and its like beside a PostgreSQL: literals, catalogs, defaults, parameters, errors."""

from __future__ import annotations

from datetime import datetime

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from tests.frontend.session.conftest import Client
from tests.frontend.session.histories import differences
from tests.postgres_oracle import PostgresOracle

HISTORY = """
CREATE TABLE t (id int, a timestamp(3), b timestamptz (0), c time(2) without time zone, d interval(1), \
e timestamp(3) with time zone[], f timestamp(6), g timestamp(9), h timestamp)
=SELECT attname, format_type(atttypid, atttypmod), atttypmod FROM pg_attribute \
WHERE attrelid = 't'::regclass AND attnum > 0
=SELECT column_name, data_type, datetime_precision FROM information_schema.columns WHERE table_name = 't'
=SELECT '2024-01-02 03:04:05.6789'::timestamp(2)::text, timestamp(1) '2024-01-02 03:04:05.6789'::text
=SELECT CAST('03:04:05.6789' AS time(0))::text, interval(2) '1 day 00:00:00.789'::text, '-1.5'::interval(0)::text
=SELECT ('{2024-01-02 03:04:05.6789,NULL}'::timestamp(1)[])::text
=SELECT extract(microseconds FROM localtimestamp(0)) % 1000000, extract(microseconds FROM current_timestamp(3)) % 1000
=SELECT 'infinity'::timestamp(2)::text, '-infinity'::timestamptz(0)::text
=SELECT '0044-03-15 12:00:00.56 BC'::timestamp(1)::text
SELECT '294246-12-31 23:59:59.9'::timestamp(1)::text
=SELECT a::text FROM (SELECT '2024-01-02 03:04:05.67'::timestamp(1) \
UNION ALL SELECT '2024-01-02 03:04:05.67'::timestamp) x(a)
INSERT INTO t (id, a, b, c) VALUES (1, '2024-01-02 03:04:05.9996', '2024-01-02 03:04:05.5+00', '03:04:05.995')
INSERT INTO t (id, a, b, h) SELECT 2, h, h, h FROM (VALUES ('2024-01-02 03:04:05.9996'::timestamp)) v(h)
=SELECT id, a::text, b AT TIME ZONE 'UTC', c::text, h::text FROM t
=SELECT id FROM t WHERE a = '2024-01-02 03:04:06'
=SELECT id FROM t WHERE h = '2024-01-02 03:04:05.9996'
CREATE VIEW v AS SELECT a, h::timestamp(1) AS i, max(a) OVER () AS m, a + d AS n FROM t
=SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'v'::regclass AND attnum > 0
=SELECT pg_get_viewdef('v'::regclass)
CREATE TABLE k (at timestamp(0) PRIMARY KEY, u timestamptz(1) UNIQUE)
INSERT INTO k VALUES ('2024-01-02 03:04:05.4', '2024-01-02 03:04:05.44+00')
INSERT INTO k VALUES ('2024-01-02 03:04:07.4', '2024-01-02 03:04:05.35+00')
INSERT INTO k VALUES ('2024-01-02 03:04:05', NULL) ON CONFLICT (at) DO NOTHING
=SELECT at::text, u AT TIME ZONE 'UTC' FROM k
DELETE FROM k WHERE at = '2024-01-02 03:04:05'
=SELECT count(*) FROM k
DROP VIEW v
ALTER TABLE t ALTER COLUMN h TYPE timestamp(2)
=SELECT id, h::text FROM t
ALTER TABLE t ALTER COLUMN h TYPE timestamp
=SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'h'
"""


def test_a_history_gives_what_postgresql_gives(client: Client, postgres_oracle: PostgresOracle) -> None:
    assert not differences(client, postgres_oracle, HISTORY)


@pytest.mark.parametrize("binary", [False, True])
def test_parameters_copies_and_defaults_are_rounded(server: WireServer, binary: bool) -> None:
    at, rounded = datetime(2024, 1, 2, 3, 4, 5, 678_500), datetime(2024, 1, 2, 3, 4, 5, 679_000)
    with psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True) as connection:
        cursor = connection.cursor(binary=binary)
        cursor.execute("CREATE TABLE p (id int PRIMARY KEY, a timestamp(3), d timestamptz(0) DEFAULT now())")
        mark = "%b" if binary else "%t"
        for number in range(8):  # also as the statement that recurs
            cursor.execute(f"INSERT INTO p (id, a) VALUES ({mark}, {mark})", (number, at), prepare=True)
        cursor.executemany(f"INSERT INTO p (id, a) VALUES ({mark}, {mark})", [(n, at) for n in range(8, 90)])
        with cursor.copy(f"COPY p (id, a) FROM STDIN {'(FORMAT binary)' if binary else ''}") as copy:
            copy.set_types(["int4", "timestamp"])
            copy.write_row((100, at))
            copy.write_row((101, None))
        cursor.execute(f"UPDATE p SET a = {mark} WHERE id = 7", (datetime(2024, 1, 2, 3, 4, 5, 678_700),), prepare=True)
        counted = "SELECT a, count(*), bool_and(d = date_trunc('second', d)) FROM p GROUP BY a ORDER BY a"
        assert cursor.execute(counted).fetchall() == [(rounded, 91, True), (None, 1, True)]
