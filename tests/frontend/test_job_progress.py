"""How far a job is, as text."""

from __future__ import annotations

import dataclasses

import pytest

from risingpy.frontend.job_progress import progress_text
from risingpy.meta.introspection import JobInCreation
from tests.frontend.system_catalog.conftest import TOTALS

JOB = JobInCreation(TOTALS, 1000, 4000, 500.0, None, None, False)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({}, "25.0 % (1000 of 4000 rows), 500 rows/s, 6 s left"),
        ({"rows": 0, "total": 0, "rows_per_second": 0.0}, "not begun yet"),
        ({"rows": 0, "rows_per_second": 0.0}, "0.0 % (0 of 4000 rows)"),
        ({"total": None}, "1000 rows"),
        ({"limit": 0}, "25.0 % (1000 of 4000 rows), 500 rows/s, 6 s left, paused: backfill_rate_limit is 0"),
        ({"rows": 0, "total": 0, "limit": 7}, "not begun yet, at most 7 rows/s"),
    ],
)
def test_what_is_known(changed: dict[str, object], text: str) -> None:
    assert progress_text(dataclasses.replace(JOB, **changed)) == text  # type: ignore[arg-type]
