"""jsonb containment, `a @> b`: whether the structure of b is found in a. Positions as in `json`.

An object contains one whose pairs it contains; an array one whose elements are contained in some of its elements;
numbers are equal by value, 1 and 1.0 too. Objects' keys are sorted, arrays are searched.
"""

from __future__ import annotations

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.json import bounded_end, find_key, string_end, value_end
from risingpy.storage.kernels.memory import load_i32, load_u8, store_u8

_QUOTE, _COMMA, _POINT, _ZERO, _MINUS = 34, 44, 46, 48, 45
_OPEN_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = 123, 91, 93


@inlined
def _number_end(start: int, end: int) -> int:
    """The end without the zeros after the point."""
    has_point = False
    for position in range(start, end):
        if load_u8(position) == _POINT:
            has_point = True
    if has_point:
        while load_u8(end - 1) == _ZERO:
            end -= 1
        if load_u8(end - 1) == _POINT:
            end -= 1
    return end


@inlined
def _is_number(byte: int) -> bool:
    return byte == _MINUS or (byte >= _ZERO and byte <= _ZERO + 9)


@inlined
def scalars_equal(a: int, a_end: int, b: int, b_end: int) -> bool:
    """Whether two scalars are equal; a container equals none."""
    first = load_u8(a)
    if first in (_OPEN_OBJECT, _OPEN_ARRAY):
        return False
    if _is_number(first) and _is_number(load_u8(b)):
        a_end, b_end = _number_end(a, a_end), _number_end(b, b_end)
    if a_end - a != b_end - b:
        return False
    k = 0
    while a + k < a_end and load_u8(a + k) == load_u8(b + k):
        k += 1
    return a + k == a_end


@kernel
def contains(a: int, a_end: int, b: int, b_end: int) -> int:
    """1 if the value at address a contains that at b, else 0."""
    kind = load_u8(b)
    if kind == _OPEN_OBJECT:
        if load_u8(a) != _OPEN_OBJECT:
            return 0
        position = b + 1
        while load_u8(position) == _QUOTE:
            key_end = string_end(0, position)
            value = key_end + 2
            end = value_end(0, value)
            found = find_key(0, a, position, key_end - position)
            if found < 0 or contains(found, value_end(0, found), value, end) == 0:
                return 0
            position = end + 2 if load_u8(end) == _COMMA else end
        return 1
    if kind == _OPEN_ARRAY:
        if load_u8(a) != _OPEN_ARRAY:
            return 0
        position = b + 1
        while load_u8(position) != _CLOSE_ARRAY:
            end = value_end(0, position)
            candidate = a + 1
            found = 0
            while found == 0 and load_u8(candidate) != _CLOSE_ARRAY:
                candidate_end = value_end(0, candidate)
                found = contains(candidate, candidate_end, position, end)
                candidate = candidate_end + 2 if load_u8(candidate_end) == _COMMA else candidate_end
            if found == 0:
                return 0
            position = end + 2 if load_u8(end) == _COMMA else end
        return 1
    return 1 if scalars_equal(a, a_end, b, b_end) else 0


@kernel
def contains_rows(a: int, a_offsets: int, b: int, b_offsets: int, n: int, found: int) -> None:
    """Row by row; at the top, an array also contains a scalar that is among its elements."""
    for i in range(n):
        left, left_end = a + load_i32(a_offsets + 4 * i), a + load_i32(a_offsets + 4 * i + 4)
        right, right_end = b + load_i32(b_offsets + 4 * i), b + load_i32(b_offsets + 4 * i + 4)
        result = contains(left, left_end, right, right_end)
        if load_u8(left) == _OPEN_ARRAY and load_u8(right) not in (_OPEN_OBJECT, _OPEN_ARRAY):
            candidate = left + 1
            while result == 0 and load_u8(candidate) != _CLOSE_ARRAY:
                end = bounded_end(0, candidate, left_end)
                result = 1 if scalars_equal(candidate, end, right, right_end) else 0
                candidate = end + 2 if load_u8(end) == _COMMA else end
        store_u8(found + i, result)


@inlined
def _token_end(position: int, end: int) -> int:
    """The place after the string, number, word or mark at `position`."""
    first = load_u8(position)
    if first == _QUOTE:
        return string_end(0, position)
    if not _is_number(first):
        return position + 1
    while position < end and (_is_number(load_u8(position)) or load_u8(position) == _POINT):
        position += 1
    return position


@kernel
def equal_rows(a: int, a_offsets: int, b: int, b_offsets: int, n: int, found: int) -> None:
    """Row by row: whether two values are equal, token by token."""
    for i in range(n):
        left, left_end = a + load_i32(a_offsets + 4 * i), a + load_i32(a_offsets + 4 * i + 4)
        right, right_end = b + load_i32(b_offsets + 4 * i), b + load_i32(b_offsets + 4 * i + 4)
        result = True
        while result and left < left_end and right < right_end:
            left_token, right_token = _token_end(left, left_end), _token_end(right, right_end)
            if load_u8(left) in (_OPEN_OBJECT, _OPEN_ARRAY):
                result = load_u8(left) == load_u8(right)
            else:
                result = scalars_equal(left, left_token, right, right_token)
            left, right = left_token, right_token
        store_u8(found + i, 1 if result and left == left_end and right == right_end else 0)
