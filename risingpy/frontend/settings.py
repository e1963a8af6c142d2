"""A session's settings: SET, SHOW, RESET, and what the client is told of them.

Names are PostgreSQL's, and RisingWave's for what PostgreSQL lacks, in any case of letters. A name with a dot is
the client's own, and may hold anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo, available_timezones

from risingpy.errors import InvalidParameterValue, SqlError, UndefinedObject
from risingpy.frontend.wire.session_protocol import StartupParameters
from risingpy.frontend.wire.startup import PARAMETER_STATUS

_TRUE = frozenset(("on", "true", "yes", "1", "t"))
_FALSE = frozenset(("off", "false", "no", "0", "f"))
_UNIT_MILLISECONDS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}


@dataclass(frozen=True, slots=True)
class Setting:
    """One parameter: its name as shown, its default, and how a value is checked and put in its canonical form."""

    name: str
    default: str
    description: str
    check: Callable[[str, str], str] = lambda name, value: value
    fixed: bool = False


def _boolean(name: str, value: str) -> str:
    if value.lower() in _TRUE:
        return "on"
    if value.lower() in _FALSE:
        return "off"
    raise InvalidParameterValue(f'parameter "{name}" requires a Boolean value')


def _one_of(*allowed: str) -> Callable[[str, str], str]:
    def check(name: str, value: str) -> str:
        if value.lower() not in allowed:
            raise InvalidParameterValue(
                f'invalid value for parameter "{name}": "{value}"', hint=f"Available values: {', '.join(allowed)}."
            )
        return value.lower()

    return check


def _integer(name: str, value: str) -> str:
    try:
        return str(int(value))
    except ValueError:
        raise InvalidParameterValue(f'invalid value for parameter "{name}": "{value}"') from None


def _duration(name: str, value: str) -> str:
    """Milliseconds, from a number with or without a unit."""
    text = value.strip().lower()
    unit = next((unit for unit in ("ms", "min", "s", "h") if text.endswith(unit)), "")
    digits = text.removesuffix(unit).strip()
    if not digits.isdigit():
        raise InvalidParameterValue(f'invalid value for parameter "{name}": "{value}"')
    return str(int(digits) * _UNIT_MILLISECONDS.get(unit, 1))


def _time_zone(name: str, value: str) -> str:
    names = {zone.lower(): zone for zone in available_timezones()}
    zone = names.get(value.lower())
    if zone is None:
        raise InvalidParameterValue(f'invalid value for parameter "TimeZone": "{value}"')
    ZoneInfo(zone)
    return zone


def _encoding(name: str, value: str) -> str:
    if value.lower().replace("-", "") not in ("utf8", "unicode", "auto"):
        raise SqlError(f"conversion between {value} and UTF8 is not supported", sqlstate="0A000")
    return "UTF8"


_SETTINGS = {
    setting.name.lower(): setting
    for setting in (
        Setting("application_name", "", "Sets the application name to be reported in statistics and logs."),
        Setting("bytea_output", "hex", "Sets the output format for bytea.", _one_of("hex")),
        Setting("client_encoding", "UTF8", "Sets the client's character set encoding.", _encoding),
        Setting("client_min_messages", "notice", "Sets the message levels that are sent to the client."),
        Setting("DateStyle", "ISO, MDY", "Sets the display format for date and time values."),
        Setting("default_transaction_isolation", "repeatable read", "The isolation level of new transactions."),
        Setting("default_transaction_read_only", "off", "Whether new transactions are read-only.", _boolean),
        Setting("extra_float_digits", "1", "Sets the number of digits displayed for floating-point values.", _integer),
        Setting("idle_in_transaction_session_timeout", "0", "Ends idle transactions after this time.", _duration),
        Setting("integer_datetimes", "on", "Whether datetimes are integer based.", fixed=True),
        Setting("IntervalStyle", "postgres", "Sets the display format for interval values.", _one_of("postgres")),
        Setting("is_superuser", "on", "Whether the user is a superuser.", fixed=True),
        Setting("jit", "off", "Allow JIT compilation.", _boolean),
        Setting("lock_timeout", "0", "Sets the maximum duration of a wait for a lock.", _duration),
        Setting("max_identifier_length", "63", "Shows the maximum identifier length.", fixed=True),
        Setting("query_mode", "auto", "Where batch queries run.", _one_of("auto", "local")),
        Setting("row_security", "off", "Enable row security.", _boolean),
        Setting("rw_implicit_flush", "off", "Each statement that writes waits until views have its rows.", _boolean),
        Setting("search_path", '"$user", public', "Sets the schema search order for names without a schema."),
        Setting("server_encoding", "UTF8", "Shows the server's character set encoding.", fixed=True),
        Setting("server_version", PARAMETER_STATUS["server_version"], "Shows the server version.", fixed=True),
        Setting("server_version_num", "130014", "Shows the server version as an integer.", fixed=True),
        Setting("standard_conforming_strings", "on", "Whether backslashes in '...' are literal.", _one_of("on")),
        Setting("statement_timeout", "0", "Sets the maximum duration of a statement.", _duration),
        Setting("synchronize_seqscans", "on", "Accepted for other clients' sake.", _boolean),
        Setting("TimeZone", "UTC", "Sets the time zone for displaying and interpreting time stamps.", _time_zone),
        Setting("transaction_isolation", "repeatable read", "The current transaction's isolation level."),
        Setting("transaction_read_only", "off", "Whether the current transaction is read-only.", _boolean),
        Setting(
            "visibility_mode",
            "read_your_writes",
            "Whether a query waits for the session's own last write.",
            _one_of("read_your_writes", "checkpoint", "default", "all"),
        ),
        Setting("xmloption", "content", "Accepted for other clients' sake."),
    )
}
_REPORTED = {name.lower(): name for name in PARAMETER_STATUS}
_ALIASES = {"time zone": "timezone", "transaction isolation level": "transaction_isolation"}


class Settings:
    """The values of one session. `version` grows with every change that bound statements depend on."""

    def __init__(self, startup: StartupParameters) -> None:
        self.version = 0
        self._user = startup.user
        self._own: dict[str, str] = {}
        self._defaults: dict[str, str] = {}
        self._changes: dict[str, str] = {}
        for name, value in startup.settings.items():
            if name.lower() in _SETTINGS or "." in name:
                self._defaults[name.lower()] = self._checked(name, value)

    def get(self, name: str) -> str:
        """The value. Raises UndefinedObject for a parameter that nobody knows."""
        key = _key(name)
        if key in self._own:
            return self._own[key]
        if key in self._defaults:
            return self._defaults[key]
        return self._setting(name).default

    def set(self, name: str, values: Sequence[str] | None) -> None:
        """SET name TO values; None for DEFAULT."""
        if values is None:
            self.reset(name)
            return
        key = _key(name)
        separator = ", "
        value = separator.join(_quoted(v) for v in values) if key == "search_path" else separator.join(values)
        self._own[key] = self._checked(name, value)
        self._changed(key)

    def reset(self, name: str) -> None:
        """RESET name, RESET ALL."""
        keys = list(self._own) if name.lower() == "all" else [_key(name)]
        for key in keys:
            if key not in self._own:
                self._setting(key)
                continue
            del self._own[key]
            self._changed(key)

    def all(self) -> Iterator[tuple[str, str, str]]:
        """(name, value, description) of every known setting."""
        for key in sorted(_SETTINGS):
            setting = _SETTINGS[key]
            yield setting.name, self.get(key), setting.description

    def reported(self) -> Mapping[str, str]:
        """The settings that the client is told at startup."""
        return {shown: self.get(key) for key, shown in _REPORTED.items() if key in _SETTINGS}

    def drain_changes(self) -> Mapping[str, str]:
        """Reported settings that changed since the last call."""
        changes, self._changes = self._changes, {}
        return changes

    def search_path(self) -> tuple[str, ...]:
        """The schemas in which names without one are looked up, in order."""
        names = [part.strip() for part in self.get("search_path").split(",")]
        plain = [name[1:-1].replace('""', '"') if name.startswith('"') else name.lower() for name in names if name]
        return tuple(self._user if name == "$user" else name for name in plain)

    def _changed(self, key: str) -> None:
        self.version += 1
        if key in _REPORTED:
            self._changes[_REPORTED[key]] = self.get(key)

    def _checked(self, name: str, value: str) -> str:
        if "." in name:
            return value
        setting = self._setting(name)
        if setting.fixed:
            raise SqlError(f'parameter "{setting.name}" cannot be changed', sqlstate="55P02")
        return setting.check(setting.name, value)

    @staticmethod
    def _setting(name: str) -> Setting:
        setting = _SETTINGS.get(_key(name))
        if setting is None:
            raise UndefinedObject(f'unrecognized configuration parameter "{name}"')
        return setting


def _key(name: str) -> str:
    key = name.lower()
    return _ALIASES.get(key, key)


def _quoted(name: str) -> str:
    plain = name.replace("_", "a").replace("$", "a")
    return name if plain.isalnum() and name == name.lower() and "$" not in name else '"' + name.replace('"', '""') + '"'
