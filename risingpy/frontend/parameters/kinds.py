"""The kinds of run-time parameters: one function per kind, from the words of SET to the value that SHOW prints.

Each raises InvalidParameterValue with PostgreSQL's wording.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from zoneinfo import ZoneInfo, available_timezones

from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.functions.topics.object_names import quote_name
from risingpy.memory import parse_bytes, show_bytes
from risingpy.types.time_zones import posix_seconds

_LEAST_MEMORY, _MOST_MEMORY = 32 << 20, 1 << 40  # sorts and joins need at least that much
_MOST_ROWS = (1 << 31) - 1
Check = Callable[[str, Sequence[str]], str]

_TRUE = ("on", "true", "yes", "1", "t", "y")
_FALSE = ("off", "false", "no", "0", "f", "n")
_DURATION = re.compile(r"(\d+)\s*(us|ms|s|min|h|d)?")
_AMOUNT = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?\s*(B|kB|MB|GB|TB|us|ms|s|min|h|d)?")
_MILLISECONDS = {"us": 0.001, None: 1, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_HOURS = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")
_MOST_HOURS = 167  # from Greenwich, as in PostgreSQL
_ETC_HOURS = (-12, 14)  # of the zones Etc/GMT+12 to Etc/GMT-14


def text(name: str, values: Sequence[str]) -> str:
    """Any text."""
    return ", ".join(values)


def on_off(name: str, values: Sequence[str]) -> str:
    """A Boolean that is shown as on or off, PostgreSQL's way."""
    return "on" if _boolean(name, values) else "off"


def true_false(name: str, values: Sequence[str]) -> str:
    """A Boolean that is shown as true or false, RisingWave's way."""
    return "true" if _boolean(name, values) else "false"


def _boolean(name: str, values: Sequence[str]) -> bool:
    word = text(name, values).lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise InvalidParameterValue(f'parameter "{name}" requires a Boolean value')


def integer(least: int, most: int) -> Check:
    """A whole number in a range."""

    def check(name: str, values: Sequence[str]) -> str:
        word = text(name, values)
        try:
            number = int(word)
        except ValueError:
            raise _invalid(name, word) from None
        if not least <= number <= most:
            raise InvalidParameterValue(
                f'{number} is outside the valid range for parameter "{name}" ({least} .. {most})'
            )
        return str(number)

    return check


def amount(name: str, values: Sequence[str]) -> str:
    """A number, perhaps with a unit of memory or time, as it was given."""
    word = text(name, values).strip()
    if _AMOUNT.fullmatch(word) is None:
        raise _invalid(name, word)
    return word


def rate_limit(name: str, values: Sequence[str]) -> str:
    """A number of rows a second, or `default` (also -1, as in RisingWave) for no limit."""
    word = text(name, values).lower()
    return "default" if word in ("default", "-1") else integer(0, _MOST_ROWS)(name, values)


class Visibility(StrEnum):
    """The values of `visibility_mode`: which writes a query waits for."""

    STRICT = "strict"
    READ_YOUR_WRITES = "read_your_writes"
    CHECKPOINT = "checkpoint"


class ReadWriteTransactions(StrEnum):
    """The values of `read_write_transactions`: whether there are transactions that write."""

    AUTO = "auto"  # on, until the session shows that it expects RisingWave, which has none
    ON = "on"
    OFF = "off"


def visibility(name: str, values: Sequence[str]) -> str:
    """A `Visibility`; RisingWave's words for what is stricter than checkpoint mean strict."""
    word = one_of(*Visibility, "default", "all")(name, values)
    return word if word in list(Visibility) else Visibility.STRICT.value


def one_of(*choices: str) -> Check:
    """One of the words `choices`."""

    def check(name: str, values: Sequence[str]) -> str:
        word = text(name, values)
        if word.lower() in choices:
            return word.lower()
        raise InvalidParameterValue(
            f'invalid value for parameter "{name}": "{word}"', hint=f"Available values: {', '.join(choices)}."
        )

    return check


def isolation(name: str, values: Sequence[str]) -> str:
    """One of the isolation levels of the standard, of which all mean the same here."""
    return one_of("serializable", "repeatable read", "read committed", "read uncommitted")(name, values)


def only(value: str, *accepted: str) -> Check:
    """The only supported value, under any of its names."""

    def check(name: str, values: Sequence[str]) -> str:
        word = text(name, values)
        if word.lower() in (value.lower(), *accepted):
            return value
        raise FeatureNotSupported(f'parameter "{name}" can only be "{value}" in this version, not "{word}"')

    return check


def read_only(name: str, values: Sequence[str]) -> str:
    """Raises 55P02 (cant_change_runtime_param) for any words: the parameter only tells something."""
    raise InvalidParameterValue(f'parameter "{name}" cannot be changed', sqlstate="55P02")


def milliseconds(name: str, values: Sequence[str]) -> str:
    """A duration such as 500, 500ms, 5s or 1min; shown in milliseconds."""
    word = text(name, values).strip()
    found = _DURATION.fullmatch(word)
    if found is None:
        raise _invalid(name, word)
    return str(round(int(found[1]) * _MILLISECONDS[found[2]]))


def least_duration(name: str, values: Sequence[str]) -> str:
    """A duration, or -1 for none that is long enough."""
    return "-1" if text(name, values).strip() == "-1" else milliseconds(name, values)


def memory(name: str, values: Sequence[str]) -> str:
    """An amount of memory such as 512MB; a number alone counts kilobytes, as in PostgreSQL. 0: the default."""
    word = text(name, values)
    try:
        amount = parse_bytes(word, unit="kb")
    except ValueError:
        raise _invalid(name, word) from None
    if amount and not _LEAST_MEMORY <= amount <= _MOST_MEMORY:
        least, most = show_bytes(_LEAST_MEMORY), show_bytes(_MOST_MEMORY)
        raise InvalidParameterValue(f'{word} is outside the valid range for parameter "{name}" ({least} .. {most})')
    return show_bytes(amount)


def search_path(name: str, values: Sequence[str]) -> str:
    """Schema names; `$user` stands for the user's own."""
    names = [part.strip() for value in values for part in value.split(",")]
    return ", ".join(quote_name(part.strip('"')) for part in names if part) or '""'


def time_zone(name: str, values: Sequence[str]) -> str:
    """A zone of the IANA database, one as POSIX writes it (`+02:30`, `GMT+8`: west), or a number of hours east."""
    word = text(name, values).strip()
    if word.lower() in ("local", "utc", "gmt", "z", "zulu", "etc/utc"):
        return "UTC"
    if _HOURS.fullmatch(word):
        return _fixed_zone(word, round(float(word) * 3600))
    distance = posix_seconds(word)
    if distance is not None:
        return _fixed_zone(word, distance)
    try:
        return ZoneInfo(word).key
    except (ValueError, KeyError, OSError):
        for zone in available_timezones():
            if zone.lower() == word.lower():
                return zone
    raise InvalidParameterValue(f'invalid value for parameter "TimeZone": "{word}"')


def _fixed_zone(word: str, seconds: int) -> str:
    """The zone so many seconds east of Greenwich: one of the IANA database, which clients know, else POSIX's."""
    if abs(seconds) > _MOST_HOURS * 3600:
        raise InvalidParameterValue(f'invalid value for parameter "TimeZone": "{word}"')
    hours, rest = divmod(seconds, 3600)
    if not rest and _ETC_HOURS[0] <= hours <= _ETC_HOURS[1]:
        return f"Etc/GMT{-hours:+d}" if hours else "UTC"
    minutes, second = divmod(abs(seconds) // 60, 60)[1], abs(seconds) % 60
    size = f"{abs(seconds) // 3600:02d}" + (f":{minutes:02d}" if minutes or second else "")
    size += f":{second:02d}" if second else ""
    east, west = ("-", "+") if seconds < 0 else ("+", "-")
    return f"<{east}{size}>{west}{size}"  # POSIX counts west of Greenwich as positive


def encoding(name: str, values: Sequence[str]) -> str:
    """UTF-8, under its names."""
    word = text(name, values)
    if re.sub("[^a-z0-9]", "", word.lower()) in ("utf8", "unicode", "auto"):
        return "UTF8"
    raise FeatureNotSupported(f'client_encoding "{word}" is not supported: use UTF8')


def date_style(name: str, values: Sequence[str]) -> str:
    """ISO output. The only order of day and month is MDY, since input is read so."""
    words = [word.strip().lower() for value in values for word in value.split(",")]
    for word in words:
        if word not in ("iso", "mdy", "us", "noneuro", "noneuropean", "default"):
            raise FeatureNotSupported(f'DateStyle "{word}" is not supported: use ISO, MDY')
    return "ISO, MDY"


def _invalid(name: str, word: str) -> InvalidParameterValue:
    return InvalidParameterValue(f'invalid value for parameter "{name}": "{word}"')
