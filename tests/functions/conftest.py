"""PostgreSQL with Unicode's letters, as ours are, and code point order."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.functions.judge import prepare
from tests.postgres_oracle import PostgresOracle, postgres_oracle

__all__ = ["postgres_oracle"]

EVALUATIONS = "evaluations"  # the property in which a test reports how many answers it compared


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, ())]
    counts = [value for report in reports for name, value in report.user_properties if name == EVALUATIONS]
    if counts:
        terminalreporter.write_line(f"{sum(counts):,} evaluations in {len(counts)} cases judged by PostgreSQL")


@pytest.fixture(scope="session")
def judge(postgres_oracle: PostgresOracle) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with postgres_oracle.connect() as connection:
        connection.execute("CREATE DATABASE judge TEMPLATE template0 LOCALE 'C.UTF-8'")
    host, port = str(postgres_oracle.directory), postgres_oracle.port
    with psycopg.connect(host=host, port=port, user="postgres", dbname="judge", autocommit=True) as connection:
        prepare(connection)
        yield connection
