"""Every case of `cases/`: our values and SQLSTATEs are PostgreSQL's, in a SELECT and in a view."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.functions.cases_reader import Listed, read_cases
from tests.functions.conftest import EVALUATIONS
from tests.functions.judge import Case, judge_case


@pytest.mark.parametrize("listed", list(read_cases()), ids=lambda listed: f"{listed.family}: {listed.case.text}")
def test_case(
    listed: Listed, judge: psycopg.Connection[tuple[object, ...]], record_property: Callable[[str, object], None]
) -> None:
    verdict = judge_case(listed.case, judge)
    record_property(EVALUATIONS, verdict.evaluations)
    if listed.differs:
        assert verdict.differences, "no longer a difference: say so in docs/sql/differences.md"
    else:
        assert not verdict.differences, "\n".join(map(str, verdict.differences[:12]))


def test_a_case_whose_rows_are_all_refused_is_judged(judge: psycopg.Connection[tuple[object, ...]]) -> None:
    verdict = judge_case(Case("1 / (coalesce({int4}, 0) * 0)"), judge)
    assert verdict.differences == []
    assert verdict.evaluations > 0
