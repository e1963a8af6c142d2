"""What Django asks before it takes a server: version 14 at least (its `check_database_version_supported`)."""

from __future__ import annotations

import psycopg

from risingpy.frontend.wire import WireServer

LEAST_OF_DJANGO = 140_000


def test_the_version_is_one_that_django_takes(server: WireServer) -> None:
    with psycopg.connect(f"host=127.0.0.1 port={server.port} user=root dbname=dev", autocommit=True) as connection:
        number = connection.execute("SELECT current_setting('server_version_num')::int").fetchone()
        assert number is not None and number[0] >= LEAST_OF_DJANGO
        assert connection.info.server_version == number[0]
        shown = connection.execute("SHOW server_version").fetchone()
        assert shown == (connection.info.parameter_status("server_version"),)
