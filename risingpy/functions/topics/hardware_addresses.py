"""Functions on macaddr, whose values are 6 bytes, on whole columns. Source: PostgreSQL's mac.c."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.functions.topics.calling import Compute, Function
from risingpy.types import SqlType, TypeKind

Rows = npt.NDArray[np.uint8]

_BYTES = 6
_BYTES_OF_MAKER = 3
_ARROW = SqlType(TypeKind.MACADDR).arrow


def _rows(column: pa.Array) -> Rows:
    """The addresses, a row of six bytes each."""
    return np.frombuffer(b"".join(column.to_pylist()), np.uint8).reshape(-1, _BYTES)


def _on_bytes(change: Callable[..., Rows]) -> Function:
    def computed(*columns: pa.Array) -> pa.Array:
        data = np.ascontiguousarray(change(*map(_rows, columns))).tobytes()
        return pa.array([data[at : at + _BYTES] for at in range(0, len(data), _BYTES)], _ARROW)

    compute: Compute = computed
    return Function(compute)


def _of_maker(rows: Rows) -> Rows:
    return np.where(np.arange(_BYTES) < _BYTES_OF_MAKER, rows, np.uint8(0))


HARDWARE_ADDRESSES: dict[str, Function] = {
    "macaddr_not": _on_bytes(np.invert),
    "macaddr_and": _on_bytes(np.bitwise_and),
    "macaddr_or": _on_bytes(np.bitwise_or),
    "macaddr_trunc": _on_bytes(_of_maker),
}
