"""Parts of moments before Christ, where DuckDB counts years as astronomers do and PostgreSQL knows no year 0.

0001-12-31 BC    year -1    decade 0    century -1    millennium -1
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from risingpy.functions.topics.calling import Compute, Function, per_constant
from risingpy.functions.topics.times.dates_and_times import Micros
from risingpy.functions.topics.times.finite import numbers_of
from risingpy.functions.topics.times.intervals import divided
from risingpy.types.date_units import MICROS_OF_DAY, YEARS_OF

YEARLY_PARTS = ("year", "isoyear", "decade", "century", "millennium")


def _years(days: Micros) -> Micros:
    """The year of each day since 1970; 0 is 1 BC."""
    years: Micros = days.astype("M8[D]").astype("M8[Y]").astype(np.int64) + 1970
    return years


def _part(field: str) -> Compute:
    def computed(column: pa.Array) -> pa.Array:
        numbers = numbers_of(column)
        days = numbers if pa.types.is_date32(column.type) else numbers // MICROS_OF_DAY
        if field == "isoyear":
            days = days - (days + 3) % 7 + 3  # the Thursday of the week says its year
        return pa.array(_counted(field, _years(days)))

    return computed


def _counted(field: str, years: Micros) -> Micros:
    size = YEARS_OF.get(field, 1)
    if field == "decade":
        return years // size
    if size > 1:
        return np.where(years > 0, (years + size - 1) // size, divided(years - size, size))
    return np.where(years > 0, years, years - 1)


PARTS: dict[str, Function] = {"yearly_part": Function(per_constant(_part, [0]))}
