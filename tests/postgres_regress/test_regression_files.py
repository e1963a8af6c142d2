"""PostgreSQL's own regression files, statement by statement, here and at a PostgreSQL.

They ask for much that is not here (inheritance, triggers, PL/pgSQL, geometric types), so what counts is that each
statement has an answer: no internal error, no lost connection, and none that does not end. How often the answers are
the same is printed. `make postgres-test` fetches the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.server_process import ServerProcess
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle
from tests.postgres_regress.answers import Comparison, Server, is_of_output
from tests.postgres_regress.scripts import Script

_SOURCE = os.environ.get("RISINGPY_POSTGRES_SOURCE", "")  # src/test/regress of PostgreSQL's sources
# In the order of PostgreSQL's own schedule, without what only its storage, its planner or its extensions have.
_FILES = """
boolean char name varchar text int2 int4 int8 oid float4 float8 bit numeric txid uuid enum rangetypes strings numerology
date time timestamp timestamptz interval inet macaddr multirangetypes horology regex comments expressions unicode copy
copyselect copydml insert insert_conflict create_table create_type create_schema create_index create_view constraints
errors select_into select_distinct select_distinct_on select_implicit select_having subselect union case join aggregates
transactions random portals arrays update delete namespace privileges matview lock tablesample groupingsets password
identity generated join_hash create_table_like merge async misc_functions sysviews tsrf tid incremental_sort
advisory_lock json jsonb json_encoding jsonpath jsonpath_encoding jsonb_jsonpath plancache limit temp domain rangefuncs
prepare truncate alter_table sequence polymorphism rowtypes returning with select window guc equivclass foreign_key
drop_if_exists indexing portals_p2 select_views
""".split()  # noqa: SIM905 - a page of words reads better than a page of quotes
# A recursion without an end, of which PostgreSQL takes 32 rows because it computes them as they are asked for.
_LINES_OF_LOG = 60
_NO_END = ("with recursive q as (\n      select * from department",)


class Servers:
    """Both, and what each file has in common: the tables of test_setup.sql."""

    def __init__(self, oracle: PostgresOracle, ours: ServerProcess) -> None:
        user = f"host={oracle.directory} port={oracle.port} user={oracle.superuser} dbname=regression"
        with oracle.connect() as connection:
            connection.execute("CREATE DATABASE regression")
        with ours.connect() as other:
            other.execute("CREATE DATABASE regression")
        self._theirs = Server(user)
        self._process = ours
        self._ours = Server(f"host=127.0.0.1 port={ours.port} user=root dbname=regression")
        self.total = Comparison()

    def compare(self, name: str) -> Comparison:
        """Sends a file to both, in sessions of its own."""
        for server in (self._theirs, self._ours):
            server.close()
            server.connect()
        environment = {"PG_ABS_SRCDIR": _SOURCE, "PG_LIBDIR": "/nowhere", "PG_DLSUFFIX": ".so"}
        comparison = Comparison()
        for sent in Script(Path(_SOURCE) / "sql" / f"{name}.sql", environment).statements():
            if not is_of_output(sent):
                comparison.add(sent, self._theirs.answer(sent), self._ours.answer(sent))
        self.total.kinds += comparison.kinds
        if comparison.failures:
            print("\n" + "".join(self._process.output[-_LINES_OF_LOG:]))
        return comparison


@pytest.fixture(scope="module")
def servers(postgres_oracle: PostgresOracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    ours = ServerProcess(tmp_path_factory.mktemp("regress"), engine="inprocess", flags=("--unix-socket-directory", ""))
    try:
        both = Servers(postgres_oracle, ours)
        both.compare("test_setup")
        yield both
        print(f"\nall files: {dict(both.total.kinds.most_common())}")
    finally:
        ours.stop()


@pytest.mark.skipif(not _SOURCE, reason="RISINGPY_POSTGRES_SOURCE does not name PostgreSQL's src/test/regress")
@pytest.mark.parametrize("name", _FILES)
def test_every_statement_has_an_answer(servers: Servers, name: str) -> None:
    comparison = servers.compare(name)
    print(f"\n{name}: {dict(comparison.kinds.most_common())}", end="")
    assert [each for each in comparison.failures if not any(begin in each for begin in _NO_END)] == []
