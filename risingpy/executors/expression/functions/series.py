"""generate_series of timestamptz: days and months are the wall clock's, step by step, as PostgreSQL counts them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.executors.expression.functions.calling import Compute, Function, fail_where, per_constant
from risingpy.executors.expression.functions.dates_and_times import instants, micros_of, moved_in_zone
from risingpy.executors.expression.functions.intervals import fields_of
from risingpy.types.time_zones import time_zone

_DAY = 86_400_000_000
Micros = npt.NDArray[np.int64]


def _series_at(zone_name: str) -> Compute:
    zone = time_zone(zone_name)

    def computed(start: pa.Array, stop: pa.Array, step: pa.Array) -> pa.Array:
        months, days, micros = fields_of(step)
        size = (30 * months + days) * _DAY + micros
        fail_where(size == 0, "22023", "step size cannot equal zero")
        first, last = micros_of(start), micros_of(stop)
        even = (months == 0) & (days == 0)
        counts = np.where(even, np.maximum((last - first) // size + 1, 0), 0)
        rows = [np.repeat(np.arange(len(first)), counts)]
        places = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        values = [first[rows[0]] + places * size[rows[0]]]
        left = np.flatnonzero(~even)
        current = first[left]
        while True:
            left, current = _within(left, current, last, size)
            if not len(left):
                break
            rows.append(left)
            values.append(current)
            current = moved_in_zone(zone, current, months[left], days[left]) + micros[left]
        return _lists(np.concatenate(rows), np.concatenate(values), len(first))

    return computed


def _within(rows: Micros, current: Micros, last: Micros, size: Micros) -> tuple[Micros, Micros]:
    """The rows whose series goes on, and where each is."""
    goes_on = np.where(size[rows] > 0, current <= last[rows], current >= last[rows])
    return rows[goes_on], current[goes_on]


def _lists(rows: Micros, values: Micros, length: int) -> pa.Array:
    """A list a row, of its values in the order in which they came."""
    order = np.argsort(rows, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=length)))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), instants(values[order]))


SERIES: dict[str, Function] = {"generate_series_at": Function(per_constant(_series_at, [3]))}
