"""Every case of `cases/`: our values and SQLSTATEs are PostgreSQL's, in a SELECT and in a view."""

from __future__ import annotations

import psycopg
import pytest

from tests.functions.cases_reader import Listed, read_cases
from tests.functions.judge import differences


@pytest.mark.parametrize("listed", list(read_cases()), ids=lambda listed: f"{listed.family}: {listed.case.text}")
def test_case(listed: Listed, judge: psycopg.Connection[tuple[object, ...]]) -> None:
    found = differences(listed.case, judge)
    if listed.differs:
        assert found, "no longer a difference: say so in docs/sql/differences.md"
    else:
        assert not found, "\n".join(map(str, found[:12]))
