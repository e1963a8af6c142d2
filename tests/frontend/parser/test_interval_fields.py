"""How the fields after an interval's text (`DAY TO MINUTE`) change its meaning."""

from __future__ import annotations

import pytest

from risingpy.frontend.parser.interval_fields import IntervalText, interval_text


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("1 day", "", IntervalText("1 day", None)),
        ("10", "minute", IntervalText("10 minute", None)),
        ("1.5", "hour", IntervalText("1.5 hour", "hour")),
        ("2", "week", IntervalText("2 week", None)),
        ("02:03", "minute to second", IntervalText("00:02:03", None)),
        ("-2:03.5", "minute to second", IntervalText("-00:2:03.5", None)),
        ("02:03", "hour to minute", IntervalText("02:03", "minute")),
        ("1 2", "day to hour", IntervalText("1 day 2 hour", "hour")),
        ("1 12:59:10", "day to second", IntervalText("1 12:59:10", None)),
        ("1-2", "year to month", IntervalText("1-2", "month")),
    ],
)
def test_texts(text: str, fields: str, expected: IntervalText) -> None:
    assert interval_text(text, fields) == expected
