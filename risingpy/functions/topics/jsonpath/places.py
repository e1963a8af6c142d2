"""The offsets of objects in PostgreSQL's binary form of a jsonb value, which `.keyvalue()` shows as their ids.

    container   header u32, an entry u32 per element (two per member of an object), then keys' bytes, then values
    value       text: its bytes; numeric: aligned to 4, a header of 6 or 8 bytes, then 2 bytes for four digits;
                container: aligned to 4; true, false, null: nothing

Source: PostgreSQL 15's jsonb.h and numeric.c.
"""

from __future__ import annotations

from decimal import Decimal

from risingpy.types.jsonb import Json, Number, key_order

_WORD = 4
_SHORT_SCALE, _SHORT_WEIGHTS = 63, range(-64, 64)


def places(base: Json) -> dict[int, int]:
    """The offset of each container in `base`, by the container's `id()`."""
    found: dict[int, int] = {}
    if isinstance(base, dict | list):
        _place(base, 0, found)
    return found


def _place(value: Json, at: int, found: dict[int, int]) -> int:
    """Notes the containers in a value that begins at `at` or at the next word; gives its end."""
    match value:
        case dict():
            at = found[id(value)] = _aligned(at)
            members = sorted(value.items(), key=lambda pair: key_order(pair[0]))
            at += _WORD * (1 + 2 * len(members)) + sum(len(key.encode()) for key, _ in members)
            for _, item in members:
                at = _place(item, at, found)
        case list():
            at = found[id(value)] = _aligned(at)
            at += _WORD * (1 + len(value))
            for item in value:
                at = _place(item, at, found)
        case Number():
            at = _aligned(at) + _numeric_size(Decimal(value))
        case str():
            at += len(value.encode())
    return at


def _aligned(at: int) -> int:
    return -(-at // _WORD) * _WORD


def _numeric_size(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    has_short_scale = -exponent <= _SHORT_SCALE
    if not value:
        return 6 if has_short_scale else 8
    whole, _, fraction = format(abs(value), "f").partition(".")
    padded = whole.zfill(_aligned(len(whole))) + fraction.ljust(_aligned(len(fraction)), "0")
    known = [k for k in range(len(padded) // _WORD) if padded[_WORD * k : _WORD * (k + 1)].strip("0")]
    is_short = has_short_scale and value.adjusted() // _WORD in _SHORT_WEIGHTS
    return (6 if is_short else 8) + 2 * (known[-1] - known[0] + 1)
