"""Looking into jsonb texts: each kernel finds parts of values, as positions in the text. Form: `types/jsonb.py`.

`starts` and `lengths` (int64, one per row) are where a value lies in `data`; a start of -1 is no value. A text being
canonical (one blank after each comma and colon, none elsewhere), a part of it is the canonical text of that part.
"""

from __future__ import annotations

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.memory import load_i32, load_i64, load_u8, store_i64, store_u8

_QUOTE, _BACKSLASH, _COMMA, _MINUS, _ZERO, _NINE = 34, 92, 44, 45, 48, 57
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = 123, 125, 91, 93


@inlined
def string_end(data: int, position: int) -> int:
    """The place after the string whose opening quote is at `position`."""
    position += 1
    while load_u8(data + position) != _QUOTE:
        position += 2 if load_u8(data + position) == _BACKSLASH else 1
    return position + 1


@inlined
def value_end(data: int, position: int) -> int:
    """The place after the value that begins at `position`."""
    first = load_u8(data + position)
    if first == _QUOTE:
        return string_end(data, position)
    if first not in (_OPEN_OBJECT, _OPEN_ARRAY):
        while True:
            byte = load_u8(data + position)
            if byte in (_COMMA, _CLOSE_OBJECT, _CLOSE_ARRAY, 0):
                return position
            position += 1
    depth = 0
    while True:
        byte = load_u8(data + position)
        if byte == _QUOTE:
            position = string_end(data, position)
            continue
        if byte in (_OPEN_OBJECT, _OPEN_ARRAY):
            depth += 1
        elif byte in (_CLOSE_OBJECT, _CLOSE_ARRAY):
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1


@inlined
def bounded_end(data: int, position: int, end: int) -> int:
    """As `value_end`, for a value that may be the whole text, which ends at `end`."""
    first = load_u8(data + position)
    if first in (_QUOTE, _OPEN_OBJECT, _OPEN_ARRAY):
        return value_end(data, position)
    while position < end and load_u8(data + position) not in (_COMMA, _CLOSE_OBJECT, _CLOSE_ARRAY):
        position += 1
    return position


@inlined
def _same(a: int, b: int, length: int) -> bool:
    k = 0
    while k < length and load_u8(a + k) == load_u8(b + k):
        k += 1
    return k == length


@inlined
def find_key(data: int, start: int, key: int, key_length: int) -> int:
    """Where the value of a key begins in the object at `start`, or -1. The key is in quotes, escaped as in the text."""
    position = start + 1
    while load_u8(data + position) == _QUOTE:
        key_end = string_end(data, position)
        value = key_end + 2
        if key_end - position == key_length and _same(data + position, key, key_length):
            return value
        position = value_end(data, value)
        if load_u8(data + position) == _COMMA:
            position += 2
    return -1


@inlined
def find_element(data: int, start: int, index: int) -> int:
    """Where element `index` (from 0) of the array at `start` begins, or -1."""
    position = start + 1
    if load_u8(data + position) == _CLOSE_ARRAY:
        return -1
    while True:
        if index == 0:
            return position
        position = value_end(data, position)
        if load_u8(data + position) != _COMMA:
            return -1
        position += 2
        index -= 1


@inlined
def count_parts(data: int, start: int) -> int:
    """The number of elements of the array, or pairs of the object, at `start`."""
    is_object = load_u8(data + start) == _OPEN_OBJECT
    position = start + 1
    if load_u8(data + position) in (_CLOSE_ARRAY, _CLOSE_OBJECT):
        return 0
    count = 0
    while True:
        if is_object:
            position = string_end(data, position) + 2
        position = value_end(data, position)
        count += 1
        if load_u8(data + position) != _COMMA:
            return count
        position += 2


@inlined
def _field(data: int, start: int, keys: int, key_offsets: int, i: int) -> int:
    """Where the value of row i's key is in the object at `start`; -1 if it lacks the key."""
    key = load_i32(key_offsets + 4 * i)
    return find_key(data, start, keys + key, load_i32(key_offsets + 4 * i + 4) - key)


@inlined
def _element(data: int, start: int, index: int) -> int:
    """Where the element is in the array at `start` (negative: counted from the end), or -1."""
    if index < 0:
        index += count_parts(data, start)
    return find_element(data, start, index) if index >= 0 else -1


@inlined
def _go_to(data: int, found: int, starts: int, lengths: int, i: int) -> None:
    """Makes the value at `found` row i's; -1 for none."""
    store_i64(starts + 8 * i, found)
    if found >= 0:
        store_i64(lengths + 8 * i, value_end(data, found) - found)


@kernel
def object_fields(data: int, n: int, keys: int, key_offsets: int, starts: int, lengths: int) -> None:
    """Goes from each object to the value of the row's key; what is no object, or lacks the key, becomes -1."""
    for i in range(n):
        start = load_i64(starts + 8 * i)
        found = -1
        if start >= 0 and load_u8(data + start) == _OPEN_OBJECT:
            found = _field(data, start, keys, key_offsets, i)
        _go_to(data, found, starts, lengths, i)


@kernel
def array_elements(data: int, n: int, indices: int, starts: int, lengths: int) -> None:
    """Goes from each array to the element of the row's index (int64; negative: from the end), else to -1."""
    for i in range(n):
        start = load_i64(starts + 8 * i)
        found = -1
        if start >= 0 and load_u8(data + start) == _OPEN_ARRAY:
            found = _element(data, start, load_i64(indices + 8 * i))
        _go_to(data, found, starts, lengths, i)


@inlined
def _integer(text: int, length: int) -> int:
    """The integer that a text writes; a number that no array has if it writes none."""
    sign = 1
    k = 0
    if length > 0 and load_u8(text) == _MINUS:
        sign = -1
        k = 1
    if k == length or length - k > 9:
        return 1 << 40
    number = 0
    while k < length:
        byte = load_u8(text + k)
        if byte < _ZERO or byte > _NINE:
            return 1 << 40
        number = 10 * number + byte - _ZERO
        k += 1
    return sign * number


@kernel
def path_steps(
    data: int, n: int, keys: int, key_offsets: int, texts: int, text_offsets: int, taken: int, starts: int, lengths: int
) -> None:
    """Takes one step of each row's path where `taken` (uint8) says so: into an object by key, into an array by number.

    `keys` are the steps in quotes, escaped; `texts` as they are.
    """
    for i in range(n):
        start = load_i64(starts + 8 * i)
        if load_u8(taken + i) == 0 or start < 0:
            continue
        found = -1
        first = load_u8(data + start)
        if first == _OPEN_OBJECT:
            found = _field(data, start, keys, key_offsets, i)
        elif first == _OPEN_ARRAY:
            text = load_i32(text_offsets + 4 * i)
            found = _element(data, start, _integer(texts + text, load_i32(text_offsets + 4 * i + 4) - text))
        _go_to(data, found, starts, lengths, i)


@kernel
def count_rows(data: int, n: int, starts: int, opening: int, counts: int) -> int:
    """Numbers of parts of arrays or objects (`opening` is their first byte); returns how many values are neither."""
    others = 0
    for i in range(n):
        start = load_i64(starts + 8 * i)
        count = 0
        if start >= 0:
            if load_u8(data + start) == opening:
                count = count_parts(data, start)
            else:
                others += 1
        store_i64(counts + 8 * i, count)
    return others


@kernel
def list_parts(
    data: int, n: int, starts: int, counts: int, keys: int, key_lengths: int, parts: int, sizes: int
) -> None:
    """Where each part of the counted values lies, and its key (with quotes) if it stands in an object."""
    item = 0
    for i in range(n):
        count = load_i64(counts + 8 * i)
        if count == 0:
            continue
        start = load_i64(starts + 8 * i)
        is_object = load_u8(data + start) == _OPEN_OBJECT
        position = start + 1
        for _ in range(count):
            if is_object:
                end = string_end(data, position)
                store_i64(keys + 8 * item, position)
                store_i64(key_lengths + 8 * item, end - position)
                position = end + 2
            end = value_end(data, position)
            store_i64(parts + 8 * item, position)
            store_i64(sizes + 8 * item, end - position)
            position = end + 2
            item += 1


@kernel
def has_strings(data: int, n: int, starts: int, ends: int, keys: int, key_offsets: int, found: int) -> None:
    """Whether the row's key (in quotes) is a key of the object, an element of the array, or the string itself."""
    for i in range(n):
        start = load_i64(starts + 8 * i)
        first = load_u8(data + start)
        offset = load_i32(key_offsets + 4 * i)
        key, length = keys + offset, load_i32(key_offsets + 4 * i + 4) - offset
        result = False
        if first == _OPEN_OBJECT:
            result = find_key(data, start, key, length) >= 0
        elif first == _OPEN_ARRAY:
            position = start + 1
            while load_u8(data + position) != _CLOSE_ARRAY and not result:
                end = value_end(data, position)
                result = end - position == length and _same(data + position, key, length)
                position = end + 2 if load_u8(data + end) == _COMMA else end
        elif first == _QUOTE:
            result = load_i64(ends + 8 * i) - start == length and _same(data + start, key, length)
        store_u8(found + i, 1 if result else 0)


@inlined
def _hex(byte: int) -> int:
    return byte - 48 if byte < 58 else byte - 87


@inlined
def unescaped(position: int) -> int:
    """The byte that stands at `position` in a string: a canonical text writes only control characters as \\u00XX."""
    byte = load_u8(position)
    if byte != _BACKSLASH:
        return byte
    byte = load_u8(position + 1)
    if byte == 117:  # u
        return 16 * _hex(load_u8(position + 4)) + _hex(load_u8(position + 5))
    if byte == 98:  # b
        return 8
    if byte == 102:  # f
        return 12
    if byte == 110:  # n
        return 10
    if byte == 114:  # r
        return 13
    if byte == 116:  # t
        return 9
    return byte


@inlined
def unescaped_end(position: int) -> int:
    """The place after the byte, or its escape, at `position` in a string."""
    if load_u8(position) != _BACKSLASH:
        return position + 1
    return position + 6 if load_u8(position + 1) == 117 else position + 2


@kernel
def unescape(data: int, n: int, starts: int, lengths: int, out: int, sizes: int) -> None:
    """The texts of JSON strings, written one after the other to `out`; other values as they are. Sets `sizes`."""
    target = out
    for i in range(n):
        start = load_i64(starts + 8 * i)
        begin = target
        if start >= 0:
            position = data + start
            end = position + load_i64(lengths + 8 * i)
            if load_u8(position) != _QUOTE:
                while position < end:
                    store_u8(target, load_u8(position))
                    position += 1
                    target += 1
            else:
                position += 1
                end -= 1
                while position < end:
                    store_u8(target, unescaped(position))
                    position = unescaped_end(position)
                    target += 1
        store_i64(sizes + 8 * i, target - begin)
