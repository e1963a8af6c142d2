"""PgJDBC and psqlODBC answer on our server what they answer on PostgreSQL 15, but for what is listed with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from tests.clients.beside_postgresql.answers import NO_REASON, answers, different, listed, write_list
from tests.clients.environments import needs_environments, output_of, python_of
from tests.postgres_oracle import missing_reason, postgres_server

PROGRAMS = Path(__file__).parents[1] / "programs"
DIFFERENCES = Path(__file__).with_name("differences")
JDBC = "/usr/share/java/postgresql.jar"
ODBC = "/usr/lib/x86_64-linux-gnu/odbc/psqlodbcw.so"
DATABASE = "tools"

pytestmark = [needs_environments, pytest.mark.timeout(900)]


@pytest.fixture
def ours(server: WireServer) -> int:
    """The port of our server."""
    with psycopg.connect(f"host=127.0.0.1 port={server.port} user=root dbname=dev", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {DATABASE}")
    return server.port


@pytest.fixture(scope="module")
def theirs() -> Iterator[int]:
    """The port of a PostgreSQL."""
    reason = missing_reason()
    if reason is not None:
        pytest.skip(reason)
    with postgres_server("listen_addresses='127.0.0.1'\n") as server:
        with server.connect() as connection:
            connection.execute("CREATE ROLE root SUPERUSER LOGIN")
            connection.execute(f"CREATE DATABASE {DATABASE} OWNER root")
        yield server.port


def _jdbc(port: int) -> str:
    url = f"jdbc:postgresql://127.0.0.1:{port}/{DATABASE}?user=root"
    return output_of("java", "-cp", JDBC, PROGRAMS / "JdbcTour.java", url)


def _odbc(port: int) -> str:
    python = python_of("odbc", ("pyodbc",))
    words = f"Driver={ODBC};Server=127.0.0.1;Port={port};Database={DATABASE};Uid=root;BoolsAsChar=0"
    return output_of(python, PROGRAMS / "odbc_tour.py", words)


@pytest.mark.parametrize(("driver", "run"), [("jdbc", _jdbc), ("odbc", _odbc)], ids=["jdbc", "odbc"])
def test_answers_are_postgresqls(
    ours: int, theirs: int, driver: str, run: Callable[[int], str], update_goldens: bool
) -> None:
    mine, its = answers(run(ours)), answers(run(theirs))
    found = different(mine, its)
    print(f"{driver}: {len(its.keys() - found.keys())} of {len(its)} answers are PostgreSQL's")
    path = DIFFERENCES / f"{driver}.txt"
    if update_goldens:
        write_list(path, found)
    reasons = listed(path)
    allowed = {key for keys in reasons.values() for key in keys}
    assert NO_REASON not in reasons
    assert "\n".join(shown for key, shown in found.items() if key not in allowed) == ""
    assert allowed <= found.keys(), "these do not differ any more"
