"""The options that mean the same for every sink: the engine reads them, and no target does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets.choice import delivery_interval
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkType
from risingpy.errors import InvalidParameterValue
from risingpy.memory import parse_bytes

_TYPES_OF_FORMATS = {"plain": SinkType.APPEND_ONLY, "upsert": SinkType.UPSERT, "debezium": SinkType.DEBEZIUM}
_LONGEST_INTERVAL = 86_400


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """`type` is None where nothing is said. `interval`: seconds between two deliveries, at least.

    `rate_limit`: rows a second (0: the sink pauses; None: no limit). `backlog_limit`: bytes that may wait for the other
    side (None: as many as the disk holds); with more, the sink fails.
    """

    type: SinkType | None
    primary_key: tuple[str, ...]
    force_append_only: bool
    snapshot: bool
    interval: float
    rate_limit: int | None
    backlog_limit: int | None


def engine_options(values: Mapping[str, str], message_format: MessageFormat | None) -> EngineOptions:
    """The options of a sink that are not its target's. Raises InvalidParameterValue for a wrong value."""
    options = Options("a sink", values)
    key = tuple(name.strip() for name in options.text("primary_key").split(",") if name.strip())
    interval = delivery_interval(options.text("connector"))
    if "commit_checkpoint_interval" in values:
        interval = float(options.number("commit_checkpoint_interval", 0, most=_LONGEST_INTERVAL))
    if "since_timestamp" in values:
        raise InvalidParameterValue("since_timestamp is not supported", hint="snapshot = 'false' begins now.")
    options.flag("sink_decouple", default=True)  # of RisingWave: here delivery always is decoupled
    encoding = Options("a sink", {} if message_format is None else dict(message_format.options))
    forced = any(each.flag(name) for each in (options, encoding) for name in ("force_append_only", "ignore_delete"))
    return EngineOptions(
        type=_type(options, message_format),
        primary_key=key,
        force_append_only=forced,
        snapshot=options.flag("snapshot", default=True),
        interval=interval,
        rate_limit=_rate_limit(options),
        backlog_limit=_backlog_limit(options),
    )


def has_snapshot(options: Sequence[tuple[str, str]]) -> bool:
    """Whether a sink with these options begins with the rows that its query has then."""
    return Options("a sink", dict(options)).flag("snapshot", default=True)


def _type(options: Options, message_format: MessageFormat | None) -> SinkType | None:
    text = options.text("type").lower()
    if not text:
        return None if message_format is None else _TYPES_OF_FORMATS.get(message_format.row_format)
    try:
        return SinkType(text)
    except ValueError:
        types = ", ".join(each.value for each in SinkType)
        raise InvalidParameterValue(f"unsupported sink type {text}", hint=f"Types are {types}.") from None


def _rate_limit(options: Options) -> int | None:
    if options.text("sink_rate_limit", "default").lower() in ("default", "-1"):
        return None
    return options.number("sink_rate_limit", 0)


def _backlog_limit(options: Options) -> int | None:
    text = options.text("backlog.limit")
    try:
        return parse_bytes(text) if text else None
    except ValueError as error:
        raise InvalidParameterValue(f"invalid value of the option backlog.limit: {error}") from None
