"""How a message writes values that its encoding has no type for: RisingWave's options `….handling.mode`.

Each option has a default for a format. A number in a date column counts days since 1970, in an interval microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidParameterValue
from risingpy.types import SqlType, TypeKind

Integers = npt.NDArray[np.int64]

_GUESS = "guess_number_unit"
_UNITS: Mapping[str, int] = {"micro": 1, "milli": 1_000}  # in microseconds
_MODES: Mapping[str, tuple[str, ...]] = {
    "timestamptz.handling.mode": ("micro", "milli", _GUESS, "utc_string", "utc_without_suffix"),
    "timestamp.handling.mode": ("micro", "milli", _GUESS),
    "time.handling.mode": ("micro", "milli"),
    "bigint.unsigned.handling.mode": ("long", "precise"),
    "interval.handling.mode": ("numeric", "string"),
}
# Where a moment is a number, its size says its unit, as in RisingWave: seconds, milliseconds, microseconds.
_SECONDS_BELOW, _MILLISECONDS_BELOW = 10**11, 10**14
_MICROSECONDS_A_DAY = 86_400 * 10**6
_LAST_DIGIT = 18  # so many digits always fit an int64
_DAY_DIGITS = 5  # more would be a date that is written without hyphens


@dataclass(frozen=True, slots=True)
class Handling:
    """The modes of a source, by their meaning; `is_debezium` says that Debezium wrote the values."""

    timestamptz: str = _GUESS
    timestamp: str = _GUESS
    time: str = "micro"
    interval: str = "numeric"
    unsigned_is_base64: bool = False
    is_debezium: bool = False

    def texts(self, type_: SqlType, texts: pa.Array) -> pa.Array:
        """Texts of a column with numbers written as the moments, dates, times and intervals that they count."""
        found = _NUMBERS.get(type_.kind)
        if found is None:
            return texts
        pattern, written = found
        numbers = pc.fill_null(pc.match_substring_regex(texts, pattern), False)
        if not pc.any(numbers, min_count=0).as_py():
            return texts
        counts = pc.cast(texts.filter(numbers), pa.int64()).to_numpy()
        replaced = written(self, counts)
        return texts if replaced is None else pc.replace_with_mask(texts, numbers, replaced)

    def moment(self, mode: str, counts: Integers) -> pa.Array | None:
        """Texts of moments; None if numbers are none in this mode. A moment that no type can hold stays a number."""
        if mode == _GUESS:
            size = np.abs(counts)
            scale = np.where(size < _SECONDS_BELOW, 10**6, np.where(size < _MILLISECONDS_BELOW, 10**3, 1))
        elif mode in _UNITS:
            scale = np.full(len(counts), _UNITS[mode])
        else:
            return None
        largest = np.iinfo(np.int64).max // scale
        fits = (counts <= largest) & (counts >= -largest)
        moments = pc.strftime(
            pa.array(np.where(fits, counts * scale, 0), pa.timestamp("us")), format="%Y-%m-%d %H:%M:%S"
        )
        return moments if fits.all() else pc.if_else(pa.array(fits), moments, pc.cast(pa.array(counts), pa.string()))


def _times(handling: Handling, counts: Integers) -> pa.Array:
    counts = counts * _UNITS[handling.time] if handling.time != "micro" else counts
    inside = (counts >= 0) & (counts < _MICROSECONDS_A_DAY)
    times = pc.cast(pa.array(np.where(inside, counts, 0)).cast(pa.time64("us")), pa.string())
    return pc.if_else(
        pa.array(inside), times, pc.binary_join_element_wise(pc.cast(pa.array(counts), pa.string()), "us", " ")
    )


def _dates(handling: Handling, counts: Integers) -> pa.Array:
    return pc.cast(pa.array(counts.astype(np.int32)).cast(pa.date32()), pa.string())


def _intervals(handling: Handling, counts: Integers) -> pa.Array | None:
    if handling.interval != "numeric":
        return None
    return pc.binary_join_element_wise(pc.cast(pa.array(counts), pa.string()), "microseconds", " ")


_ANY_NUMBER = f"^-?[0-9]{{1,{_LAST_DIGIT}}}$"
_NUMBERS: Mapping[TypeKind, tuple[str, Callable[[Handling, Integers], pa.Array | None]]] = {
    TypeKind.TIMESTAMP: (_ANY_NUMBER, lambda handling, counts: handling.moment(handling.timestamp, counts)),
    TypeKind.TIMESTAMPTZ: (_ANY_NUMBER, lambda handling, counts: handling.moment(handling.timestamptz, counts)),
    TypeKind.TIME: (f"^[0-9]{{1,{_LAST_DIGIT - 3}}}$", _times),
    TypeKind.DATE: (f"^-?[0-9]{{1,{_DAY_DIGITS}}}$", _dates),
    TypeKind.INTERVAL: (_ANY_NUMBER, _intervals),
}


def handling_of(options: dict[str, str], row_format: str) -> Handling:
    """Takes the handling modes out of the options of a format. Raises InvalidParameterValue for an unknown mode."""
    chosen: dict[str, str] = {}
    for name, modes in _MODES.items():
        mode = options.pop(name, None)
        if mode is not None and mode.lower() not in modes:
            raise InvalidParameterValue(f'invalid {name} "{mode}"', hint=f"It is {', '.join(modes)}.")
        if mode is not None:
            chosen[name.split(".")[0]] = mode.lower()
    unsigned = chosen.pop("bigint", "long")
    return Handling(**chosen, unsigned_is_base64=unsigned == "precise", is_debezium=row_format == "debezium")
