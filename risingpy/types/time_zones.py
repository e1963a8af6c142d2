"""Time zones over whole columns: offsets of instants and of wall clocks, from the IANA database, for all years.

Python's and Arrow's zones are not enough: the one converts single values, the other knows no rule beyond 2037.
"""

from __future__ import annotations

import re
import struct
import zoneinfo
from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from risingpy.errors import InvalidParameterValue
from risingpy.types.clocks.zone_abbreviations import ABBREVIATIONS, ZONE_OF
from risingpy.types.far_moments import INFINITE_MICROS, is_infinite

Micros: TypeAlias = "npt.NDArray[np.int64]"

_SECOND = 1_000_000
_DAY = 86_400
_CYCLE_YEARS = 400  # after which weekdays and leap years repeat
_CYCLE_SECONDS = 146_097 * _DAY
_LAST = 253_402_300_800 + 366 * _DAY  # beyond the year 9999
_POSIX = re.compile(r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+:-]+>)?([+-]?)(\d{1,3})(?::(\d{2})(?::(\d{2}))?)?")


@dataclass(frozen=True, slots=True, eq=False)
class TimeZone:
    """From `instants[k]` on (seconds since 1970, UTC) the clock is `offsets[k]` seconds east of Greenwich."""

    instants: Micros
    offsets: Micros
    is_abbreviation: bool = False

    def offsets_at(self, instants: Micros) -> Micros:
        """Seconds east of Greenwich at instants in microseconds since 1970."""
        seconds = instants // _SECOND
        if len(seconds) and int(seconds.max()) >= _LAST:
            seconds = np.where(seconds >= _LAST, _cycles_before(seconds), seconds)
        found: Micros = self.offsets[np.searchsorted(self.instants, seconds, side="right") - 1]
        return found

    def offsets_of_local(self, local: Micros) -> Micros:
        """Seconds east of Greenwich for wall clocks in microseconds since 1970.

        As PostgreSQL decides: an hour that is left out has the offset before, one that repeats that after.
        """
        before, after = self.offsets_at(local - _DAY * _SECOND), self.offsets_at(local + _DAY * _SECOND)
        offsets = np.where(self.offsets_at(local - after * _SECOND) == after, after, before)
        # An abbreviation means what it does at that instant: its clock has no gap.
        return self.offsets_at(local - offsets * _SECOND) if self.is_abbreviation else offsets

    def to_local(self, instants: Micros) -> Micros:
        """Wall clocks in microseconds since 1970; infinity is the same in all zones."""
        return _moved(instants, self.offsets_at(instants))

    def to_utc(self, local: Micros) -> Micros:
        return _moved(local, -self.offsets_of_local(local))


def _moved(micros: Micros, seconds: Micros) -> Micros:
    moved = micros + seconds * _SECOND
    infinite = is_infinite(micros, INFINITE_MICROS)
    return np.where(infinite, micros, moved) if infinite.any() else moved


def seconds_east(name: str, local: int) -> int:
    """The offset of the zone of that name for one wall clock in microseconds since 1970: `offsets_of_local` of one."""
    instants, offsets, is_abbreviation = _as_lists(name)
    second = local // _SECOND

    def offset_at(at: int) -> int:
        return offsets[bisect_right(instants, _cycles_before(at) if at >= _LAST else at) - 1]

    before, after = offset_at(second - _DAY), offset_at(second + _DAY)
    offset = after if offset_at(second - after) == after else before
    return offset_at(second - offset) if is_abbreviation else offset


_Seconds = TypeVar("_Seconds", int, Micros)


def _cycles_before(seconds: _Seconds) -> _Seconds:
    """The same second of the last cycle of years that zones have: beyond it, their rules go on as they did in it."""
    return seconds - ((seconds - _LAST) // _CYCLE_SECONDS + 1) * _CYCLE_SECONDS


@lru_cache(maxsize=16)
def _as_lists(name: str) -> tuple[list[int], list[int], bool]:
    """Python looks up one number in a list in a hundredth of the time that NumPy takes."""
    zone = time_zone(name)
    return zone.instants.tolist(), zone.offsets.tolist(), zone.is_abbreviation


@lru_cache(maxsize=256)
def time_zone(name: str) -> TimeZone:
    """The zone of an abbreviation, an IANA name in any case, or a POSIX offset (`+02` is west). Raises 22023."""
    word = name.lower()
    seconds = ABBREVIATIONS.get(word)
    if seconds is not None:
        return _fixed(seconds)
    if word in ZONE_OF:
        return _abbreviated(ZONE_OF[word], name.upper())
    known = _names().get(word)
    if known is not None:
        return _loaded(known)
    distance = posix_seconds(name)
    if distance is None:
        raise InvalidParameterValue(f'time zone "{name}" not recognized')
    return _fixed(distance)


def posix_seconds(name: str) -> int | None:
    """Seconds east of Greenwich of a zone as POSIX writes it, where a plus is west: `+02:30`, `GMT+8`, `<-03>+03`.

    None for any other text, and for zones with rules of their own about summer (`CST7CDT,M4.1.0,M10.5.0`).
    """
    posix = _POSIX.fullmatch(name)
    if posix is None or int(posix[2]) > 167:
        return None
    seconds = int(posix[2]) * 3600 + int(posix[3] or 0) * 60 + int(posix[4] or 0)
    return seconds if posix[1] == "-" else -seconds


@lru_cache(maxsize=256)
def tzinfo_of(name: str) -> tzinfo:
    """The zone of a session for single values of Python's, which shows its abbreviations, too. Raises KeyError."""
    distance = posix_seconds(name)
    if distance is None:
        return zoneinfo.ZoneInfo(name)
    shown = name[1 : name.index(">")] if name.startswith("<") else None
    length = timedelta(seconds=distance)
    return timezone(length) if shown is None else timezone(length, shown)


def _abbreviated(zone: str, abbreviation: str) -> TimeZone:
    """What an abbreviation means at each time: what the zone last meant by it, or what it first did.

    Where the zone has no such abbreviation (most have numbers for names now), the zone's own time counts.
    """
    instants, offsets, _, names = _read_transitions(_file_bytes(zone))
    meant = [(at, offset) for at, offset, name in zip(instants, offsets, names, strict=True) if name == abbreviation]
    if not meant:
        return _loaded(zone)
    first = np.iinfo(np.int64).min
    begins = np.array([first, *(at for at, _ in meant)])
    return TimeZone(begins, np.array([meant[0][1], *(each for _, each in meant)]), is_abbreviation=True)


def _fixed(seconds: int) -> TimeZone:
    return TimeZone(np.array([np.iinfo(np.int64).min]), np.array([seconds]))


@cache
def _names() -> dict[str, str]:
    return {name.lower(): name for name in zoneinfo.available_timezones()}


def _loaded(name: str) -> TimeZone:
    instants, offsets, first, _ = _read_transitions(_file_bytes(name))
    zone = zoneinfo.ZoneInfo(name)
    ruled = _by_rule(zone, int(instants[-1]) if len(instants) else 0)
    cycles = [ruled]
    while cycles[-1] and cycles[-1][0][0] < _LAST:
        cycles.append([(at + _CYCLE_SECONDS, offset) for at, offset in cycles[-1]])
    later = [transition for cycle in cycles for transition in cycle]
    all_instants = [np.iinfo(np.int64).min, *instants, *(at for at, _ in later)]
    all_offsets = [first, *offsets, *(offset for _, offset in later)]
    return TimeZone(np.array(all_instants, np.int64), np.array(all_offsets, np.int64))


def _file_bytes(name: str) -> bytes:
    for directory in zoneinfo.TZPATH:
        path = Path(directory) / name
        if path.is_file():
            return path.read_bytes()
    return resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()


def _read_transitions(data: bytes) -> tuple[list[int], list[int], int, list[str]]:
    """The instants and offsets of a TZif file's 64-bit block, the offset before the first, and each one's abbreviation.

    Source: RFC 8536.
    """
    start = 0
    for size in (4, 8) if data[4:5] >= b"2" else (4,):
        utc_count, std_count, leaps, times, types, chars = struct.unpack_from(">6l", data, start + 20)
        at = start + 44
        instants = list(struct.unpack_from(f">{times}{'q' if size == 8 else 'l'}", data, at))
        indices = data[at + times * size : at + times * (size + 1)]
        records = at + times * (size + 1)
        offsets = [struct.unpack_from(">l", data, records + 6 * k)[0] for k in range(types)]
        letters = data[records + 6 * types : records + 6 * types + chars]
        names = [letters[data[records + 6 * k + 5] :].partition(b"\0")[0].decode("ascii") for k in range(types)]
        start = records + 6 * types + chars + leaps * (size + 4) + std_count + utc_count
    return instants, [offsets[k] for k in indices], offsets[0], [names[k] for k in indices]


def _by_rule(zone: zoneinfo.ZoneInfo, after: int) -> list[tuple[int, int]]:
    """The transitions of one cycle of years that the file's closing rule makes after its last transition."""
    base = datetime(1970, 1, 1, tzinfo=UTC)
    first = max((base + timedelta(seconds=after)).year + 1, 2037)

    def offset(at: int) -> int:
        shift = (base + timedelta(seconds=at)).astimezone(zone).utcoffset()
        assert shift is not None
        return round(shift.total_seconds())

    months = [datetime(first + k // 12, k % 12 + 1, 1, tzinfo=UTC) for k in range(12 * _CYCLE_YEARS + 1)]
    edges = [round((month - base).total_seconds()) for month in months]
    if len({offset(edge) for edge in edges[:13]}) == 1:
        return []
    found = []
    for low, high in pairwise(edges):
        old, new = offset(low), offset(high)
        if old == new:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == old else (low, middle)
        found.append((high, new))
    return found
