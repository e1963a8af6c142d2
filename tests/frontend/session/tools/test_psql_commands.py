"""Every command of psql's `\\?` that asks the server works here, and prints the columns that it prints of PostgreSQL.

PostgreSQL has an equal schema. The lists' rows are compared where no list has what only one of the two has: where the
command names an object of the schema.
"""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from risingpy.frontend.wire import WireServer
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

SCHEMA = (
    "CREATE SCHEMA s",
    "CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL DEFAULT 'x', c numeric(10,2) CHECK (c > 0), UNIQUE (b))",
    "CREATE INDEX ti ON t (b, c DESC)",
    "CREATE TABLE s.u (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int REFERENCES t ON DELETE CASCADE)",
    "CREATE VIEW v AS SELECT a, b FROM t WHERE a > 1",
    "CREATE MATERIALIZED VIEW m AS SELECT b, count(*) AS n FROM t GROUP BY b",
    "CREATE SEQUENCE q",
    "CREATE FUNCTION f(x int) RETURNS int LANGUAGE sql AS 'SELECT x + 1'",
    "COMMENT ON TABLE t IS 'a table'",
    "COMMENT ON COLUMN t.b IS 'a column'",
)
# Of objects of the schema: all that is printed must be PostgreSQL's.
NAMED = (
    *(r"\d t", r"\d+ t", r"\d ti", r"\d v", r"\d+ v", r"\d m", r"\d+ m", r"\d q", r"\d s.u", r"\d+ s.u", r"\d f"),
    *(r"\dt t", r"\dt s.*", r"\dv v", r"\dm m", r"\di ti", r"\ds q", r"\dt *.t", r"\dt nosuch", r"\d nosuch"),
    *(r"\df f", r"\sf f", r"\sf+ f", r"\sv v", r"\sv+ v", r"\dn s", r"\dp t", r"\z t", r"\dd nosuch", r"\dC nosuch"),
)
# Lists: only their columns must be PostgreSQL's.
LISTS = (
    *(r"\d", r"\dS", r"\d+", r"\da", r"\dA", r"\dA+", r"\dAc", r"\dAf", r"\dAo", r"\dAp", r"\db", r"\db+", r"\dc"),
    *(r"\dconfig", r"\dconfig+ *", r"\dC", r"\dC+", r"\dd", r"\dD", r"\dD+", r"\ddp", r"\dE", r"\dE+", r"\des"),
    *(r"\des+", r"\det", r"\det+", r"\deu", r"\deu+", r"\dew", r"\dew+", r"\df", r"\df+ f", r"\dfa", r"\dfn", r"\dfp"),
    *(r"\dft", r"\dfw", r"\dF", r"\dF+", r"\dFd", r"\dFd+", r"\dFp", r"\dFp+", r"\dFt", r"\dFt+", r"\dg", r"\dg+"),
    *(
        r"\di",
        r"\di+",
        r"\dl",
        r"\dl+",
        r"\lo_list",
        r"\dL",
        r"\dL+",
        r"\dm",
        r"\dm+",
        r"\dn",
        r"\dn+",
        r"\do",
        r"\do+",
    ),
    *(r"\dO", r"\dO+", r"\dp", r"\dP", r"\dPi", r"\dPt+", r"\drds", r"\dRp", r"\dRp+", r"\dRs", r"\dRs+", r"\ds"),
    *(r"\ds+", r"\dt", r"\dt+", r"\dT", r"\dT+", r"\du", r"\du+", r"\dv", r"\dv+", r"\dx", r"\dx+", r"\dX", r"\dy"),
    *(r"\dy+", r"\l", r"\l+", r"\z", r"\dtS pg_class", r"\dTS+ int4", r"\dfS+ abs", r"\doS <>", r"\dCS", r"\dcS"),
)
# What runs statements.
OTHERS = (
    *(r"SELECT 1 AS one \g", r"SELECT 1 AS one, 2 AS two \gx", r"SELECT a FROM t \gdesc", "SELECT 'SELECT 5' \\gexec"),
    *(r"SELECT 7 AS seven \gset", r"\echo :seven", r"SELECT * FROM (VALUES (1,2,3)) v(a,b,c) \crosstabview"),
    *(r"\copy t TO STDOUT", r"\encoding", "SELECT nothing FROM t;"),
)
# What is printed differently, and why.
DIFFERENT = {
    r"\dF+": "there is no text search",
    r"\dFp+": "there is no text search",
    r"\dRs+": "the server says that it is like PostgreSQL 14, whose subscriptions have fewer columns",
}
_AGES = re.compile(r"\d+ (bytes|kB|MB)")


@pytest.mark.skipif(shutil.which("psql") is None, reason="no psql")
def test_commands(server: WireServer, postgres_oracle: PostgresOracle) -> None:
    theirs_at = ["-h", str(postgres_oracle.directory), "-p", str(postgres_oracle.port)]
    with postgres_oracle.connect() as connection:
        connection.execute("CREATE ROLE root SUPERUSER LOGIN")
        connection.execute("CREATE DATABASE dev OWNER root")
    try:
        theirs = _printed(theirs_at)
    finally:
        with postgres_oracle.connect() as connection:
            connection.execute("DROP DATABASE dev WITH (FORCE)")
            connection.execute("DROP ROLE root")
    ours = _printed(["-h", "127.0.0.1", "-p", str(server.port)])
    found = {c: (ours[c], theirs[c]) for c in ours if not _is_answered(c, ours[c], theirs[c])}
    unknown = "\n".join(
        f"{command}\n--- here\n{mine[:2000]}\n--- PostgreSQL\n{its[:2000]}"
        for command, (mine, its) in found.items()
        if command not in DIFFERENT
    )
    assert found.keys() == DIFFERENT.keys(), unknown
    assert [command for command, printed in ours.items() if "ERROR:" in printed] == ["SELECT nothing FROM t;"]


def _printed(where: list[str]) -> dict[str, str]:
    """What psql prints after each command."""
    commands = (*NAMED, *LISTS, *OTHERS)
    setup = "".join(f"{statement};\n" for statement in SCHEMA)
    script = "".join(f"\\qecho {_MARK}{number}\n{command}\n" for number, command in enumerate(commands))
    done = subprocess.run(
        ["psql", "-X", *where, "-U", "root", "-d", "dev", "-v", "HISTFILE=/dev/null"],
        input=setup + script,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    parts = re.split(rf"^{_MARK}(\d+)\n", done.stdout, flags=re.MULTILINE)[1:]
    found = {commands[int(number)]: printed for number, printed in zip(parts[::2], parts[1::2], strict=True)}
    return {command: found.get(command, "") for command in commands}


_MARK = "=====command "


def _is_answered(command: str, mine: str, its: str) -> bool:
    if command in LISTS:
        return _columns(mine) == _columns(its)
    return _without_chance(mine) == _without_chance(its)


def _columns(printed: str) -> list[str]:
    """The names of the columns that a list has; that there is none; or the error."""
    lines = printed.splitlines()
    rules = [place for place, line in enumerate(lines) if re.fullmatch(r"-[-+]*", line)]
    if rules:
        return [name.strip() for name in lines[rules[0] - 1].split("|")]
    return lines[:1]


def _without_chance(printed: str) -> str:
    """What is printed, without sizes and the widths that they make."""
    return re.sub(r"[ -]+", " ", _AGES.sub("SIZE", printed))
