"""Datums that are written without Arrow are Arrow's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest

from risingpy.batch import datum_writer
from risingpy.storage.codec.datum_columns import datum_of
from risingpy.types import TIMESTAMP, TIMESTAMPTZ, SqlType

_NAIVE = [
    datetime(1970, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(1, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59, 999_999),
    datetime(2026, 11, 28, 1, 2, 3, 456),
]


@pytest.mark.parametrize("type_", [TIMESTAMP, TIMESTAMPTZ])
@pytest.mark.parametrize("zone", [None, UTC, timezone(timedelta(hours=2))])
def test_moments(type_: SqlType, zone: timezone | None) -> None:
    write = datum_writer(type_)
    assert write is not None and write(None) is None
    for value in _NAIVE[:1] + _NAIVE[4:] if zone not in (None, UTC) else _NAIVE:
        zoned = value.replace(tzinfo=zone)
        assert write(zoned) == datum_of(pa.array([zoned], type_.arrow), 0)
