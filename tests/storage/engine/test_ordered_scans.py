"""Reads of a part of each prefix's rows: the first ones, and those around a span of keys; long keys too."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from risingpy.storage.codec.table_schema import KeyColumn, TableColumn, TableSchema, ValueFormat
from risingpy.storage.engine.shard_store import ShardStore
from risingpy.storage.engine.state_table import StateTable
from risingpy.types import INTEGER, VARCHAR
from tests.examples import examples

LONG = "x" * 497
texts = st.sampled_from(["a", "b", "c", "d", LONG + "b", LONG + "a", LONG, LONG[:480], "y"])
rows = st.sets(st.tuples(st.integers(0, 3), texts), min_size=1, max_size=25)


def schema() -> TableSchema:
    """`group | text descending → number`."""
    columns = [("g", INTEGER), ("t", VARCHAR), ("n", INTEGER)]
    return TableSchema(
        table_id=7,
        name="t",
        columns=tuple(TableColumn(i + 1, name, type_) for i, (name, type_) in enumerate(columns)),
        key=(KeyColumn(0), KeyColumn(1, descending=True)),
        distribution=(0,),
        value_columns=(2,),
        value_format=ValueFormat.PLAIN,
    )


@pytest.fixture
def table(tmp_path: Path):  # type: ignore[no-untyped-def]
    store = ShardStore(tmp_path, shard=0, shards=1, map_size=64 << 20)
    with store.begin(1, 0) as transaction:
        yield transaction.state_table(schema())
    store.close()


def fill(table: StateTable, given_rows: set[tuple[int, str]]) -> dict[int, list[str]]:
    """The texts of each group in the table's order, which holds just these rows now."""
    for row in list(table.scan_rows()):
        table.delete_row(row)
    for group, text in given_rows:
        table.insert_row([group, text, len(text)])
    groups: dict[int, list[str]] = {}
    for group, text in sorted(given_rows, key=lambda row: row[1], reverse=True):
        groups.setdefault(group, []).append(text)
    return groups


def found(scanned: pa.Table, number: int) -> list[str]:
    return [t for t, p in zip(scanned["c1"].to_pylist(), scanned["_prefix"].to_pylist(), strict=True) if p == number]


@given(given_rows=rows, limits=st.lists(st.integers(1, 4), min_size=4, max_size=4))
@settings(examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_first_rows_of_each_prefix(table: StateTable, given_rows: set[tuple[int, str]], limits: list[int]) -> None:
    groups = fill(table, given_rows)
    asked = [3, 1, 0, 2]
    scanned = table.scan_prefix([pa.array(asked, pa.int32())], pa.array(limits).to_numpy())
    for number, group in enumerate(asked):
        assert found(scanned, number) == groups.get(group, [])[: limits[number]]


@given(
    given_rows=rows,
    ends=st.lists(st.tuples(texts, texts), min_size=4, max_size=4),
    before=st.integers(0, 3),
    behind=st.sampled_from([None, 0, 1, 3]),
)
@settings(examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_rows_around_spans(
    table: StateTable, given_rows: set[tuple[int, str]], ends: list[tuple[str, str]], before: int, behind: int | None
) -> None:
    groups = fill(table, given_rows)
    asked = [3, 1, 0, 2]
    spans = [(max(pair), min(pair)) for pair in ends]  # descending
    keys = [[pa.array(asked, pa.int32()), pa.array([span[end] for span in spans])] for end in (0, 1)]
    scanned = table.scan_around(keys[0], keys[1], 1, before, behind)
    for number, group in enumerate(asked):
        every, (low, high) = groups.get(group, []), spans[number]
        first = sum(text > low for text in every)
        last = sum(text >= high for text in every)
        expected = every[max(first - before, 0) : len(every) if behind is None else last + behind]
        answer = found(scanned, number)
        if any(len(text) > 400 for text in (*every, low, high)):  # then it may be more
            start = next((i for i in range(len(every) + 1) if every[i : i + len(answer)] == answer), None)
            assert start is not None and set(expected) <= set(answer)
        else:
            assert answer == expected
