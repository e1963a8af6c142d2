"""Options of formats that several encodings have."""

from __future__ import annotations

from risingpy.errors import InvalidParameterValue


def ignores_key(options: dict[str, str]) -> bool:
    """Takes `ignore_key` out: whether Debezium's messages have keys that are not those of the table."""
    text = options.pop("ignore_key", "false").lower()
    if text not in ("true", "false"):
        raise InvalidParameterValue(f'invalid ignore_key "{text}"', hint="It is true or false.")
    return text == "true"


def maps_as_jsonb(options: dict[str, str]) -> bool:
    """Takes `map.handling.mode` out: whether maps of a schema are columns of type jsonb."""
    text = options.pop("map.handling.mode", "map").lower()
    if text not in ("map", "jsonb"):
        raise InvalidParameterValue(f'invalid map.handling.mode "{text}"', hint="It is map or jsonb.")
    return text == "jsonb"
