"""generate_series and range of timestamptz: as in PostgreSQL, each step adds its days and months to the wall clock.

It also serves timestamps if the parts of the step have different signs: `1 month -1 day`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.functions.topics.calling import Compute, Function, fail_where, per_constant
from risingpy.functions.topics.times.dates_and_times import instants, micros_of, moved_in_zone
from risingpy.functions.topics.times.finite import refusing
from risingpy.functions.topics.times.intervals import fields_of
from risingpy.statement_limits import current_limits
from risingpy.types.date_units import MICROS_OF_DAY
from risingpy.types.time_zones import TimeZone, time_zone

_BYTES = 64  # of a moment, in all the columns that it is made of
Micros = npt.NDArray[np.int64]
Part = tuple[Micros, Micros]  # the rows, and the instants that belong to them


@dataclass(frozen=True, slots=True)
class _Series:
    """One series per row, from `first` to `last`; `size` is the step's size, by which PostgreSQL compares intervals."""

    zone: TimeZone
    first: Micros
    last: Micros
    months: Micros
    days: Micros
    micros: Micros
    size: Micros

    def of_hours(self, rows: Micros) -> Part:
        """The series whose steps have no days and months."""
        return _multiples(rows, self.first, self.last, self.size)

    def of_days(self, rows: Micros) -> tuple[Part, Micros]:
        """The series whose steps are whole days: multiples on the wall clock. Also the rows that need `by_steps`."""
        ends = self.zone.to_local(self.last) + np.sign(self.size) * MICROS_OF_DAY
        owners, clocks = _multiples(rows, self.zone.to_local(self.first), ends, self.size)
        values = self.zone.to_utc(clocks)
        begins = np.flatnonzero(np.diff(owners, prepend=-1))
        values[begins] = self.first[owners[begins]]  # in a repeated hour, the first moment may be either of two
        wanted = self._go_on(values, owners)
        # A step into a skipped hour moves all moments after it.
        moved = np.unique(owners[wanted & (self.zone.to_local(values) != clocks)])
        wanted &= ~np.isin(owners, moved)
        return (owners[wanted], values[wanted]), moved

    def by_steps(self, rows: Micros) -> Iterator[Part]:
        """The series of any steps: computes one step after the other, for all rows at once."""
        current = self.first[rows]
        # A step such as 1 month -29 days leads from February back to where it began: the series would never end.
        # Brent's algorithm finds this: the moment reached after 1, 2, 4, 8, … steps must not come again.
        milestone, steps = current.copy(), 0
        while len(rows):
            going = self._go_on(current, rows)
            rows, current, milestone = rows[going], current[going], milestone[going]
            yield rows, current
            current = moved_in_zone(self.zone, current, self.months[rows], self.days[rows]) + self.micros[rows]
            fail_where(current == milestone, "22023", "step does not move the series on")
            steps += 1
            if steps & (steps - 1) == 0:
                milestone = current.copy()

    def _go_on(self, values: Micros, rows: Micros) -> npt.NDArray[np.bool_]:
        return np.where(self.size[rows] > 0, values <= self.last[rows], values >= self.last[rows])


def _series_at(zone_name: str) -> Compute:
    zone = time_zone(zone_name)

    def computed(start: pa.Array, stop: pa.Array, step: pa.Array) -> pa.Array:
        months, days, micros = fields_of(step)
        size = (30 * months + days) * MICROS_OF_DAY + micros
        fail_where(size == 0, "22023", "step size cannot equal zero")
        series = _Series(zone, micros_of(start), micros_of(stop), months, days, micros, size)
        hours, whole_days = (months == 0) & (days == 0), (months == 0) & (micros == 0)
        by_clock, moved = series.of_days(np.flatnonzero(whole_days))
        others = np.union1d(np.flatnonzero(~hours & ~whole_days), moved)
        parts = [series.of_hours(np.flatnonzero(hours)), by_clock, *series.by_steps(others)]
        rows, values = (np.concatenate(each) for each in zip(*parts, strict=True))
        return _lists(rows, values, len(size))

    by_start = refusing(computed, "start value cannot be infinity", [0], "22023")
    return refusing(by_start, "stop value cannot be infinity", [1], "22023")


def _range_at(zone_name: str) -> Compute:
    """The series without its end."""
    series = _series_at(zone_name)

    def computed(start: pa.Array, stop: pa.Array, step: pa.Array) -> pa.Array:
        lists = series(start, stop, step)
        owners = np.repeat(np.arange(len(lists)), np.diff(lists.offsets.to_numpy()))
        values = micros_of(lists.values)
        kept = values != micros_of(stop)[owners]
        return _lists(owners[kept], values[kept], len(lists))

    return computed


def _multiples(rows: Micros, first: Micros, last: Micros, size: Micros) -> Part:
    """For each row, the numbers from `first` to `last` by `size`."""
    counts = np.maximum((last[rows] - first[rows]) // size[rows] + 1, 0)
    current_limits().check(int(counts.sum()) * _BYTES, "the series")
    owners = np.repeat(rows, counts)
    places = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    return owners, first[owners] + places * size[owners]


def _lists(rows: Micros, values: Micros, length: int) -> pa.Array:
    """One list per row, with its values in the given order."""
    order = np.argsort(rows, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=length)))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), instants(values[order]))


SERIES: dict[str, Function] = {
    "generate_series_at": Function(per_constant(_series_at, [3])),
    "range_at": Function(per_constant(_range_at, [3])),
    "generate_series_by_steps": Function(_series_at("UTC")),
}
