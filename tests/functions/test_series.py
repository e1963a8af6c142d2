"""generate_series of timestamptz in zones whose clocks jump: PostgreSQL's instants, whatever the step."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import psycopg
import pyarrow as pa
import pytest

from risingpy.errors import SqlError
from risingpy.functions.topics.times.series import SERIES

ZONES = ("UTC", "America/New_York", "Europe/Paris", "Australia/Lord_Howe", "Pacific/Apia", "America/St_Johns")
HOUR = 3_600_000_000
STEPS = (  # months, days, microseconds
    *((0, 1, 0), (0, -1, 0), (0, 7, 0), (0, 0, 5 * HOUR), (0, 0, -HOUR // 2)),
    *((1, 0, 0), (-1, 0, 0), (0, 1, HOUR), (2, -3, 0)),
)
Series = tuple[datetime, datetime, tuple[int, int, int]]


def random_series(random: Random) -> Series:
    """Most of them near a month in which clocks are changed."""
    month, day = random.choice([3, 4, 9, 10, 11, 12]), random.randint(1, 28)
    start = datetime(random.choice([2011, 2021, 2022]), month, day, random.randint(0, 23), tzinfo=UTC)
    start += timedelta(minutes=random.choice([0, 15, 30, 45]))
    step = random.choice(STEPS)
    length = timedelta(days=random.randint(0, 60), hours=random.randint(0, 30))
    return start, start + (length if step > (0, 0, 0) else -length), step


def ours(zone: str, series: list[Series]) -> list[list[datetime]]:
    instant = pa.timestamp("us", "UTC")
    steps = [pa.MonthDayNano((months, days, 1000 * micros)) for _, _, (months, days, micros) in series]
    columns = [pa.array([each[k] for each in series], instant) for k in (0, 1)]
    zones = pa.array([zone] * len(series))
    answer = SERIES["generate_series_at"].compute(*columns, pa.array(steps, pa.month_day_nano_interval()), zones)
    return [list(row) for row in answer.to_pylist()]


@pytest.mark.parametrize("zone", ZONES)
def test_the_instants_are_postgresqls(zone: str, judge: psycopg.Connection[tuple[datetime]]) -> None:
    random = Random(zone)
    series = [random_series(random) for _ in range(60)]
    judge.execute(f"SET TimeZone = '{zone}'")
    try:
        for (start, stop, (months, days, micros)), found in zip(series, ours(zone, series), strict=True):
            step = f"make_interval(months => {months}, days => {days}, secs => {micros / 1e6})"
            query = f"SELECT g FROM generate_series(%s::timestamptz, %s::timestamptz, {step}) AS g"
            assert found == [row[0].astimezone(UTC) for row in judge.execute(query.encode(), (start, stop))]
    finally:
        judge.execute("RESET TimeZone")


def test_a_step_that_stands_still_is_refused() -> None:
    """PostgreSQL would go on for ever: a month from 1 February is 28 days later, and 29 days earlier than that."""
    start, stop = datetime(2023, 2, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)
    with pytest.raises(SqlError, match="does not move"):
        ours("UTC", [(start, stop, (1, -29, 0))])
