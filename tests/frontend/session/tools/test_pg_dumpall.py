"""Stock pg_dumpall: all databases and roles of ours into a PostgreSQL, and those of a PostgreSQL into ours."""

from __future__ import annotations

import re
import shutil
import subprocess

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PROGRAMS, postgres_server

pytestmark = pytest.mark.skipif(
    not (PROGRAMS / "pg_dumpall").exists() or shutil.which("psql") is None, reason="needs PostgreSQL 15's pg_dumpall"
)

MADE = """
CREATE ROLE reader LOGIN CONNECTION LIMIT 7 VALID UNTIL '2090-01-02 00:00:00+00';
CREATE ROLE readers NOLOGIN CREATEDB;
GRANT readers TO reader;
ALTER ROLE reader SET search_path TO 'one', 'public';
COMMENT ON ROLE readers IS 'they read';
CREATE DATABASE shop OWNER readers;
GRANT CONNECT ON DATABASE shop TO reader;
ALTER DATABASE shop SET timezone TO 'Europe/Paris';
"""
INSIDE = """
CREATE SCHEMA one;
CREATE TABLE one.t (a int PRIMARY KEY, b text NOT NULL);
INSERT INTO one.t VALUES (1, 'x'), (2, 'y');
CREATE TABLE one.keyless (a int);
INSERT INTO one.keyless VALUES (1), (2);
CREATE MATERIALIZED VIEW one.counted AS SELECT count(*) AS n FROM one.keyless;
GRANT SELECT ON one.t TO readers;
"""
ROLES = (
    "SELECT rolname, rolcanlogin, rolcreatedb, rolconnlimit, rolvaliduntil::text, shobj_description(oid, 'pg_authid')"
    " FROM pg_roles WHERE rolname LIKE 'reader%' ORDER BY 1"
)
MEMBERS = (
    "SELECT roleid::regrole::text, member::regrole::text FROM pg_auth_members WHERE member::regrole::text = 'reader'"
)
DATABASES = "SELECT datname, pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'shop'"
SETTINGS = "SELECT lower(setconfig::text) FROM pg_db_role_setting ORDER BY 1"


def _restore(dump: str, *place: str) -> list[str]:
    """The errors of psql; a dump goes on after one."""
    command = ("psql", "-q", "-X", *place, "-f", "-")
    done = subprocess.run(command, input=dump, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return re.findall(r"ERROR: +(.*)", done.stderr)


def _dump(*place: str) -> str:
    done = subprocess.run((PROGRAMS / "pg_dumpall", *place), capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _rows(where: str, *queries: str) -> list[list[tuple[object, ...]]]:
    with psycopg.connect(where, autocommit=True) as connection:
        return [connection.execute(query.encode()).fetchall() for query in queries]


def test_all_databases_go_there_and_come_back(server: WireServer, client: Client) -> None:
    own = ("-h", "127.0.0.1", "-p", str(server.port), "-U", "root")
    ours = f"host=127.0.0.1 port={server.port} user=root"
    for sql in (*MADE.split(";\n"), "CREATE TABLE first (a int); INSERT INTO first VALUES (7)"):
        if sql.strip():
            client.run(sql)
    with psycopg.connect(f"{ours} dbname=shop", autocommit=True) as connection:
        connection.execute(INSIDE.encode())
    dump = _dump(*own)
    with postgres_server("listen_addresses='127.0.0.1'\n") as oracle:
        there = ("-h", "127.0.0.1", "-p", str(oracle.port), "-U", "postgres", "-d", "postgres")
        theirs = f"host=127.0.0.1 port={oracle.port} user=postgres"
        assert _restore(dump, *there) == []
        checks = ROLES, MEMBERS, DATABASES, SETTINGS
        assert _rows(f"{theirs} dbname=postgres", *checks) == _rows(f"{ours} dbname=dev", *checks)
        assert _rows(f"{theirs} dbname=dev", "SELECT a FROM first") == [[(7,)]]
        inside = "SELECT * FROM one.t ORDER BY a", "SELECT n FROM one.counted"
        assert _rows(f"{theirs} dbname=shop", *inside) == _rows(f"{ours} dbname=shop", *inside)
        with psycopg.connect(f"{theirs} dbname=postgres", autocommit=True) as connection:
            connection.execute("CREATE TABLE of_postgres (a int); INSERT INTO of_postgres VALUES (8)")
        back = _dump(*there[:-2])
    for sql in ("DROP DATABASE shop", "DROP TABLE first", "DROP ROLE reader", "DROP ROLE readers"):
        client.run(sql)
    expected = ['role "root" already exists', 'database "dev" already exists']
    assert _restore(back, *own, "-d", "postgres") == expected
    assert _rows(f"{ours} dbname=dev", "SELECT a FROM first", "SELECT a FROM of_postgres") == [[(7,)], [(8,)]]
    assert _rows(f"{ours} dbname=shop", *inside) == [[(1, "x"), (2, "y")], [(2,)]]
    for program, name in (("createdb", "made"), ("dropdb", "made")):
        subprocess.run((PROGRAMS / program, *own, name), check=True, capture_output=True, timeout=60)
    assert ("made",) not in _rows(f"{ours} dbname=dev", "SELECT datname FROM pg_database")[0]
