"""Hypothesis strategies: values of each type, and histories of a relation."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
from hypothesis import strategies as st

from tests.executors.bench import Relation, Row

BIG = 9223372036854775807

bigints = st.sampled_from([None, 0, 1, -1, 7, BIG, -BIG - 1])
doubles = st.sampled_from([None, 0.0, 0.1, 1.5, -2.25, 1e20, -1e20, float("nan"), float("inf"), float("-inf")])
numerics = st.sampled_from([None, Decimal("0.1"), Decimal("-3.5"), Decimal(10) ** 21, -(Decimal(10) ** 21)])
texts = st.sampled_from([None, "", "a", "ab", "b\0", "é"])
booleans = st.sampled_from([None, True, False])
intervals = st.sampled_from([None, *(pa.MonthDayNano(parts) for parts in ([1, 0, 0], [0, 30, 0], [0, 1, 5000]))])
groups = st.sampled_from([None, 0, 1, 2])


def histories(*values: st.SearchStrategy[object], keys: int = 6, epochs: int = 4) -> st.SearchStrategy[list[Relation]]:
    """States of a relation, one per epoch: rows (key, *values) by key. Any of them may be empty."""
    row: st.SearchStrategy[Row] = st.tuples(*values)
    state = st.dictionaries(st.integers(0, keys - 1), row, max_size=keys)

    def keyed(rows: dict[int, Row]) -> Relation:
        return {key: (key, *rest) for key, rest in rows.items()}

    return st.lists(state.map(keyed), min_size=1, max_size=epochs)
