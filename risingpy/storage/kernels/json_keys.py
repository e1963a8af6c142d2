"""Keys of jsonb texts: byte strings in the order of PostgreSQL's btree, which equal values share. Texts as in `json`.

    null 01 | string 02 bytes 00 | number 03 … | false 04, true 05 | array 06 count parts | object 07 count key value …
    number:  sign (00 negative, 01 zero, 02 positive) | point, u32 | its digits from the first to the last but 0 | 00
    count:   u32, big-endian

    "ab"       02 61 62 00
    12.50      03 02 80000002 31 32 35 00           the digits are those of 0.125, which the point moves by two places
    -12.5      03 00 7ffffffd ce cd ca ff           a negative number's bytes are inverted after the sign
    [1, {}]    06 00000002  03 02 80000001 31 00  07 00000000

An array with more parts is greater, and so is an object with more pairs; then the first part that differs decides.
An empty array is less than null if it is the whole value (00): so PostgreSQL has it.
"""

from __future__ import annotations

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.json import unescaped, unescaped_end
from risingpy.storage.kernels.memory import load_i32, load_i64, load_u8, store_i64, store_u8

_QUOTE, _COMMA, _COLON, _MINUS, _POINT, _ZERO, _NINE = 34, 44, 58, 45, 46, 48, 57
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = 123, 125, 91, 93
_LOW_N, _LOW_T, _LOW_F = 110, 116, 102
_EMPTY, _NULL, _STRING, _NUMBER, _FALSE, _TRUE, _ARRAY, _OBJECT = 0, 1, 2, 3, 4, 5, 6, 7
_NEGATIVE, _ZERO_SIGN, _POSITIVE = 0, 1, 2
_MIDDLE = 1 << 31  # of the places where a number's point may be

# A key is at most this much longer than its text: `1,` in an array becomes a tag, a sign, a point, a digit and an end.
MOST_BYTES_OF_BYTE = 8


@inlined
def _store_u32(target: int, value: int) -> None:
    store_u8(target, value >> 24)
    store_u8(target + 1, value >> 16)
    store_u8(target + 2, value >> 8)
    store_u8(target + 3, value)


@inlined
def _number_end(position: int, end: int) -> int:
    """The place after the number at `position`."""
    while position < end:
        byte = load_u8(position)
        if byte != _MINUS and byte != _POINT and (byte < _ZERO or byte > _NINE):
            return position
        position += 1
    return position


@inlined
def _write_number(position: int, end: int, target: int) -> int:
    """Writes the number between `position` and `end`; returns the place after its key."""
    flip = 0
    if load_u8(position) == _MINUS:
        flip = 255
        position += 1
    whole_end = position
    while whole_end < end and load_u8(whole_end) != _POINT:
        whole_end += 1
    first = position
    while first < end and load_u8(first) in (_ZERO, _POINT):
        first += 1
    store_u8(target, _NUMBER)
    if first == end:
        store_u8(target + 1, _ZERO_SIGN)
        return target + 2
    if whole_end < end:
        while load_u8(end - 1) in (_ZERO, _POINT) and end > whole_end:
            end -= 1
    while load_u8(end - 1) == _ZERO:
        end -= 1
    point = whole_end - first if first < whole_end else whole_end + 1 - first
    place = _MIDDLE + point
    store_u8(target + 1, _NEGATIVE if flip else _POSITIVE)
    _store_u32(target + 2, ~place if flip else place)
    target += 6
    while first < end:
        byte = load_u8(first)
        if byte != _POINT:
            store_u8(target, byte ^ flip)
            target += 1
        first += 1
    store_u8(target, flip)
    return target + 1


@inlined
def _write_string(position: int, target: int) -> int:
    """Writes the string whose opening quote is at `position`; returns the place after its key."""
    store_u8(target, _STRING)
    target += 1
    position += 1
    while load_u8(position) != _QUOTE:
        store_u8(target, unescaped(position))
        target += 1
        position = unescaped_end(position)
    store_u8(target, 0)
    return target + 1


@kernel
def write_keys(data: int, offsets: int, n: int, open: int, out: int, sizes: int) -> None:
    """Writes the rows' keys one after the other to `out`, and their `sizes` (int64).

    `open` has room for two int64 for each container around a value: where its count stands, and its count.
    """
    target = out
    for i in range(n):
        position, end = data + load_i32(offsets + 4 * i), data + load_i32(offsets + 4 * i + 4)
        begin = target
        top = open - 16
        if end - position == 2 and load_u8(position) == _OPEN_ARRAY:
            store_u8(target, _EMPTY)
            target += 1
            position = end
        while position < end:
            byte = load_u8(position)
            if byte == _QUOTE:
                target = _write_string(position, target)
                position += 1
                while load_u8(position) != _QUOTE:
                    position = unescaped_end(position)
                position += 1
            elif byte == _COMMA:
                store_i64(top + 8, load_i64(top + 8) + 1)
                position += 2
            elif byte == _COLON:
                position += 2
            elif byte in (_OPEN_OBJECT, _OPEN_ARRAY):
                store_u8(target, _OBJECT if byte == _OPEN_OBJECT else _ARRAY)
                position += 1
                top += 16
                store_i64(top, target + 1)
                store_i64(top + 8, 0 if load_u8(position) in (_CLOSE_OBJECT, _CLOSE_ARRAY) else 1)
                target += 5
            elif byte in (_CLOSE_OBJECT, _CLOSE_ARRAY):
                _store_u32(load_i64(top), load_i64(top + 8))
                top -= 16
                position += 1
            elif byte in (_LOW_N, _LOW_T, _LOW_F):
                store_u8(target, _NULL if byte == _LOW_N else _TRUE if byte == _LOW_T else _FALSE)
                target += 1
                position += 5 if byte == _LOW_F else 4
            else:
                number_end = _number_end(position, end)
                target = _write_number(position, number_end, target)
                position = number_end
        store_i64(sizes + 8 * i, target - begin)
