"""The suites that tools judge databases with: SQLAlchemy's for dialects, and a slice of Django's own tests.

What a suite asks of the server and does not get is listed with its reason, in SQLAlchemy's terms in
`programs/sqlalchemy_suite/exclusions.py`, for Django in `programs/django_suite/exclusions.txt`, and in docs/clients.md.
"""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from tests.clients.environments import needs_environments, python_of, run, source_of

PROGRAMS = Path(__file__).parent / "programs"
SQLALCHEMY = ("sqlalchemy>=2.0", "psycopg[binary]", "psycopg2-binary", "asyncpg", "greenlet", "pytest", "numpy")
DJANGO = ("django==5.2.*", "psycopg[binary,pool]")
SLICE = ("ordering", "aggregation", "queries", "backends", "constraints")

pytestmark = [needs_environments, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("driver", ["psycopg2", "psycopg", "asyncpg"])
def test_sqlalchemys_suite_for_dialects(server: WireServer, driver: str, tmp_path: Path) -> None:
    python = python_of("sqlalchemy_suite", SQLALCHEMY)
    own = PROGRAMS / "sqlalchemy_suite"
    where = f"root@127.0.0.1:{server.port}/dev"
    with psycopg.connect(f"postgresql://{where}", autocommit=True) as connection:
        connection.execute("CREATE SCHEMA test_schema; CREATE SCHEMA test_schema_2")
    options = ("-p", "suite_plugin", "-c", own / "setup.cfg", "--rootdir", own)
    url = f"postgresql+{driver}://{where}"
    paths = f"{own}:{source_of(python, 'sqlalchemy') / 'test'}"
    done = run(python, "-m", "pytest", *options, "--dburi", url, own / "suite.py", cwd=tmp_path, PYTHONPATH=paths)
    counts = done.stdout.strip().splitlines()[-1]
    print(f"SQLAlchemy's suite over {driver}: {counts}")
    assert done.returncode == 0, done.stdout[-20_000:]
    assert int(re.findall(r"(\d+) passed", counts)[0]) > 1000


def test_djangos_own_tests(server: WireServer) -> None:
    """The tests that fail are those that are listed, and no other."""
    python = python_of("django", DJANGO)
    own = PROGRAMS / "django_suite"
    tests = source_of(python, "django") / "tests"
    words = ("runtests.py", "--settings=rising_settings", "--noinput", "--parallel=1", *SLICE)
    done = run(python, *words, cwd=tests, PYTHONPATH=str(own), RISINGPY_PORT=str(server.port))
    failed = set(re.findall(r"^(?:FAIL|ERROR): \w+ \(([\w.]+)\)", done.stderr, re.MULTILINE))
    print(f"Django's tests: {re.findall(r'^Ran .*', done.stderr, re.MULTILINE)}, {len(failed)} fail")
    listed = (line.strip() for line in (own / "exclusions.txt").read_text().splitlines())
    assert failed == {line for line in listed if line and not line.startswith("#")}, done.stderr[-20_000:]
