"""The keys of jsonb in plain Python, a value at a time: what `kernels/json_keys` writes, which has the layout."""

from __future__ import annotations

import struct

from risingpy.types.jsonb import Json, Number, key_order, load

_MIDDLE = 1 << 31  # of the places where a number's point may be


def json_key(text: str) -> bytes:
    """The key of a jsonb text. Equal values have equal keys, and keys order as PostgreSQL orders the values."""
    return b"\0" if text == "[]" else _key(load(text))


def _key(value: Json) -> bytes:
    match value:
        case None:
            return b"\1"
        case bool():
            return b"\5" if value else b"\4"
        case Number():
            return _number(value)
        case str():
            return b"\2" + value.encode() + b"\0"
        case list():
            return b"\6" + struct.pack(">I", len(value)) + b"".join(map(_key, value))
    pairs = sorted(value.items(), key=lambda pair: key_order(pair[0]))
    return b"\7" + struct.pack(">I", len(pairs)) + b"".join(_key(name) + _key(item) for name, item in pairs)


def _number(text: str) -> bytes:
    whole, _, decimals = text.removeprefix("-").partition(".")
    digits = (whole + decimals).lstrip("0")
    if not digits:
        return b"\3\1"
    point = len(digits) - len(decimals)
    shown = digits.rstrip("0").encode() + b"\0"
    if text[0] != "-":
        return b"\3\2" + struct.pack(">I", _MIDDLE + point) + shown
    return b"\3\0" + struct.pack(">I", ~(_MIDDLE + point) & 0xFFFFFFFF) + bytes(byte ^ 0xFF for byte in shown)
