"""A column's bound in an epoch: no change comes any more of a row that is below it.

A column that several sources feed (a union, a join's key) has several watermarks. Its bound is the least of them, since
the slowest source may still send such a row. While one of them is unknown, there is no bound. There is none during a
backfill either: the watermarks are those of the present, and older rows are still to come from the snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import make_chunk
from risingpy.executors.epoch.operator_tree import FragmentEpoch
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.functions.topics.times.finite import limit_of, numbers_of
from risingpy.plan.expressions import InputRef
from risingpy.plan.properties import WatermarkBound
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import SqlType
from risingpy.types.far_moments import is_infinite


@dataclass(frozen=True, slots=True)
class _BoundPart:
    """One watermark's bound: an expression of the watermark. `evaluator` is None if it is the watermark itself."""

    watermark_id: int
    type: SqlType
    evaluator: Evaluator | None

    @classmethod
    def of(cls, bound: WatermarkBound) -> _BoundPart:
        plain = isinstance(bound.expression, InputRef)
        return cls(bound.watermark_id, bound.type, None if plain else Evaluator(None, (bound.expression,)))

    def at(self, watermark: int) -> pa.Array:
        value = watermark_value(watermark, self.type)
        if self.evaluator is None:
            return value
        result, _ = self.evaluator.evaluate(make_chunk(np.ones(1, np.int8), [value]))
        return whole(result.column(1))


class Bound:
    """The least of the bounds of several watermarks. It is computed again only when one of them has moved."""

    def __init__(self, bounds: Sequence[WatermarkBound]) -> None:
        self._parts = [_BoundPart.of(bound) for bound in bounds]
        self._last: tuple[list[int], pa.Array | None] = ([], None)

    def __call__(self, epoch: FragmentEpoch) -> pa.Array | None:
        """An array of one value of the column's type; None if a watermark is unknown or the job is backfilling."""
        if epoch.epoch_input.is_backfilling(epoch.job_id):
            return None
        found = [epoch.epoch_input.watermark(part.watermark_id) for part in self._parts]
        values = [value for value in found if value is not None]
        if len(values) < len(found):
            return None
        known, last = self._last
        if known != values:
            last = _least([part.at(value) for part, value in zip(self._parts, values, strict=True)])
            self._last = values, last
        return last


def _least(values: Sequence[pa.Array]) -> pa.Array | None:
    together = pa.concat_arrays(values)
    return None if together.null_count else pa.repeat(pc.min(together), 1)


def watermark_value(value: int, type_: SqlType) -> pa.Array:
    """A watermark as an array of one value of its column's type; the meta service keeps it as a number."""
    number = pa.array([value], pa.int64())
    return number.cast(pa.int32()).cast(type_.arrow) if pa.types.is_date32(type_.arrow) else number.cast(type_.arrow)


def watermark_number(values: pa.Array) -> int | None:
    """The greatest of `values` that is finite, as the meta service keeps it; None if there is none.

    After an infinite one every row would be late, for ever.
    """
    values = values.drop_null()
    numbers = numbers_of(values)
    finite = numbers[~is_infinite(numbers, limit_of(values.type))]
    return int(finite.max()) if len(finite) else None
