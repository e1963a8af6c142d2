"""IPv4 addresses as whole numbers, as RisingWave has them: `inet_aton('10.0.5.9') = 167773449`."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidParameterValue
from risingpy.functions.topics.calling import Function

_ADDRESS = r"^(?P<a>[0-9]{1,3})\.(?P<b>[0-9]{1,3})\.(?P<c>[0-9]{1,3})\.(?P<d>[0-9]{1,3})$"
_PARTS = "abcd"
_LARGEST_PART = 255
_LARGEST = 2**32 - 1


def _inet_aton(texts: pa.Array) -> pa.Array:
    """All four numbers must be there: `127.1` is no address."""
    parts = pc.extract_regex(texts, _ADDRESS)
    numbers = [pc.cast(pc.struct_field(parts, name), pa.int64()) for name in _PARTS]
    right = parts.is_valid()
    for number in numbers:
        right = pc.and_(right, pc.fill_null(pc.less_equal(number, _LARGEST_PART), False))
    if not pc.all(right).as_py():
        wrong = texts.filter(pc.invert(right))[0].as_py()
        raise InvalidParameterValue(f"Invalid IP address: {re.sub(r'[^ -~]', '?', wrong)}")
    a, b, c, d = (number.to_numpy() for number in numbers)
    return pa.array(a << 24 | b << 16 | c << 8 | d)


def _inet_ntoa(numbers: pa.Array) -> pa.Array:
    values = numbers.to_numpy()
    outside = (values < 0) | (values > _LARGEST)
    if outside.any():
        raise InvalidParameterValue(f"Invalid IP number: {values[np.flatnonzero(outside)[0]]}")
    parts = [pc.cast(pa.array(values >> shift & _LARGEST_PART), pa.string()) for shift in (24, 16, 8, 0)]
    return pc.binary_join_element_wise(*parts, ".")


NETWORKS: dict[str, Function] = {"inet_aton": Function(_inet_aton), "inet_ntoa": Function(_inet_ntoa)}
