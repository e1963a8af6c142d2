"""Schemas that the storage tests use."""

from __future__ import annotations

import pytest

from risingpy.storage.codec.table_schema import KeyColumn, TableColumn, TableSchema, ValueFormat
from risingpy.types.sql_type import INTEGER


@pytest.fixture
def three_integers() -> TableSchema:
    """Seed 001's example: three integers, the first of them the key."""
    return TableSchema(
        table_id=7,
        name="t",
        columns=tuple(TableColumn(i + 1, f"v{i}", INTEGER) for i in range(3)),
        key=(KeyColumn(0),),
        distribution=(),
        value_columns=(1, 2),
        value_format=ValueFormat.ROW,
    )
