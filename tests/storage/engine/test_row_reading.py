"""Reads of whole keys are those of a sorted list: with long keys, in the tree and in runs, in both directions."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.storage.codec.key_encoding import LONG_KEY_PREFIX, MAX_KEY_BYTES, long_key_form, vnode_prefix
from risingpy.storage.codec.table_schema import VNODE_COUNT
from risingpy.storage.engine.lmdb_environment import Environment, open_environment
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.ranges import Batch, Direction, Ranges
from risingpy.storage.engine.row_reading import read, read_all, read_around, read_first, read_points
from risingpy.storage.engine.sorted_runs import RUNS
from risingpy.storage.engine.stored_rows import StoredRows
from risingpy.storage.engine.table_statistics import META, StatisticsChange
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning
from tests.eager_runs import EAGER_RUNS
from tests.examples import examples

TABLE = 7
Pair = tuple[bytes, bytes]
Bounds = tuple[bytes, bytes, int]


@pytest.fixture(scope="module", params=[DEFAULT_TUNING, EAGER_RUNS], ids=["tree", "runs"])
def environment(request: pytest.FixtureRequest) -> Iterator[Environment]:
    with tempfile.TemporaryDirectory() as directory:
        opened = open_environment(
            Path(directory) / "store", databases=[b"rows", b"undo", META, RUNS], map_size=1 << 26, tuning=request.param
        )
        yield opened
        opened.close()


def written(keys: list[bytes], values: dict[bytes, bytes | None]) -> WriteBatch:
    """Writes as a table's codec makes them; those to None delete."""
    stored, is_long = long_key_form(pa.array(keys, pa.binary()))
    whole = [
        value if (value := values[key]) is None or not long else struct.pack(">I", len(key)) + key + value
        for key, long in zip(keys, is_long.tolist(), strict=True)
    ]
    by_stored = sorted(zip(stored.to_pylist(), whole, strict=True), key=lambda pair: pair[0])
    return WriteBatch(*(pa.array([pair[side] for pair in by_stored], pa.binary()) for side in (0, 1)))


@contextmanager
def rows_of(environment: Environment, *batches: dict[bytes, bytes | None]) -> Iterator[StoredRows]:
    """The table after these writes, in a transaction that is not committed."""
    with environment.writing():
        transaction = environment.begin_write()
        try:
            rows = StoredRows(environment, transaction)
            for batch in batches:
                if batch:
                    writes = written(sorted(batch), batch)
                    rows.write(writes)
                    change = StatisticsChange()  # so many of a table's rows may wait in runs: none of the first ones
                    change.add(writes.keys, writes.values.fill_null(b""), +1)
                    change.write(transaction)
            yield rows
        finally:
            transaction.abort()


# Keys of two vnodes; of the long ones many share all that is stored of them. 495 to 511 bytes are the borders.
tails = st.one_of(
    st.binary(max_size=2),
    st.builds(
        lambda middle, size, end: b"m" + bytes([middle]) * (size - 7 - len(end)) + end,
        st.integers(65, 66),
        st.sampled_from([LONG_KEY_PREFIX - 1, LONG_KEY_PREFIX, LONG_KEY_PREFIX + 2, MAX_KEY_BYTES, 600]),
        st.binary(max_size=2),
    ),
)
some_keys = st.builds(lambda vnode, tail: vnode_prefix(TABLE, vnode) + tail, st.integers(3, 4), tails)
short_keys = st.builds(lambda vnode, tail: vnode_prefix(TABLE, vnode) + tail, st.integers(3, 4), st.binary(max_size=2))
values = st.binary(min_size=1, max_size=3)
contents = st.one_of(
    *(
        st.tuples(st.dictionaries(keys, values, max_size=40), st.dictionaries(keys, st.none() | values, max_size=15))
        for keys in (some_keys, short_keys)
    )
)
directions = st.lists(st.booleans(), min_size=6, max_size=6)
bounds_of_ranges = st.lists(st.tuples(some_keys, some_keys, st.integers(0, 4)), min_size=1, max_size=6)


def expected_rows(first: dict[bytes, bytes], second: dict[bytes, bytes | None]) -> list[Pair]:
    merged = {**first, **second}
    return sorted((key, value) for key, value in merged.items() if value is not None)


def triples(batch: Batch) -> list[tuple[int, bytes, bytes]]:
    return list(zip(batch.numbers.tolist(), batch.keys.to_pylist(), batch.values.to_pylist(), strict=True))


@examples(300)
@given(
    *(contents, bounds_of_ranges, st.booleans(), st.booleans(), st.none() | st.integers(0, 12)),
    *(
        st.none() | st.integers(1, 9),
        st.sampled_from([*Direction, None]),
        st.lists(st.booleans(), min_size=6, max_size=6),
    ),
)
def test_reads_are_those_of_a_sorted_list(
    environment: Environment,
    written_rows: tuple[dict[bytes, bytes], dict[bytes, bytes | None]],
    bounds: list[Bounds],
    are_prefixes: bool,
    with_limits: bool,
    most: int | None,
    page_rows: int | None,
    one_way: Direction | None,
    both_ways: list[bool],
) -> None:
    """Also if each range has a direction of its own."""
    ordered = expected_rows(*written_rows)
    direction = np.array(both_ways[: len(bounds)]) if one_way is None else one_way
    expected = []
    for number, (start, stop, limit) in enumerate(bounds):
        goes_back = both_ways[number] if one_way is None else one_way is Direction.BACKWARD
        mine = [pair for pair in ordered if (pair[0].startswith(start) if are_prefixes else start <= pair[0] < stop)]
        mine = mine[::-1] if goes_back else mine
        expected += [(number, *pair) for pair in (mine[:limit] if with_limits else mine)]
    limits = np.array([limit for _, _, limit in bounds], np.int64) if with_limits else None
    starts = pa.array([start for start, _, _ in bounds], pa.binary())
    ranges = Ranges.of_prefixes(starts) if are_prefixes else Ranges.of([(start, stop) for start, stop, _ in bounds])
    with rows_of(environment, dict(written_rows[0]), written_rows[1]) as rows:
        found = [
            triple
            for batch in read(rows, ranges, limits, direction, most=most, page_rows=page_rows)
            for triple in triples(batch)
        ]
        assert found == expected[:most]


@examples(100)
@given(contents, st.lists(some_keys, max_size=12))
def test_points_are_those_of_a_dictionary(
    environment: Environment, written_rows: tuple[dict[bytes, bytes], dict[bytes, bytes | None]], asked: list[bytes]
) -> None:
    model = dict(expected_rows(*written_rows))
    asked = [*asked, *list(model)[:40]]
    with rows_of(environment, dict(written_rows[0]), written_rows[1]) as rows:
        found = read_points(rows, pa.array(asked, pa.binary())).values.to_pylist()
        assert found == [model.get(key) for key in asked]


@examples(150)
@given(contents, st.integers(1, 7), st.sampled_from(Direction))
def test_pages_after_one_another_are_the_table(
    environment: Environment,
    written_rows: tuple[dict[bytes, bytes], dict[bytes, bytes | None]],
    page_rows: int,
    direction: Direction,
) -> None:
    vnodes = [3, 4] if direction is Direction.FORWARD else [4, 3]
    ranges = Ranges.of_prefixes(pa.array([vnode_prefix(TABLE, vnode) for vnode in vnodes], pa.binary()))
    ordered = expected_rows(*written_rows)[:: 1 if direction is Direction.FORWARD else -1]
    with rows_of(environment, dict(written_rows[0]), written_rows[1]) as rows:
        found: list[Pair] = []
        after: bytes | None = None
        while True:
            page = read_first(rows, ranges, page_rows, direction, after=after)
            found += [(key, value) for _, key, value in triples(page)]
            if len(page) < page_rows:
                break
            after = page.last
        assert found == ordered


spans = st.tuples(tails, tails).map(sorted)


@examples(150)
@given(contents, spans, spans, st.integers(0, 3), st.none() | st.integers(0, 3))
def test_neighbours_are_those_of_a_sorted_list(
    environment: Environment,
    written_rows: tuple[dict[bytes, bytes], dict[bytes, bytes | None]],
    span: list[bytes],
    other_span: list[bytes],
    before: int,
    after: int | None,
) -> None:
    """Of one span in each vnode."""
    prefixes = [vnode_prefix(TABLE, vnode) for vnode in (3, 4)]
    ends = [[prefix + tail for tail in each] for prefix, each in zip(prefixes, (span, other_span), strict=True)]
    expected = []
    for number, (prefix, (low, high)) in enumerate(zip(prefixes, ends, strict=True)):
        mine = [pair for pair in expected_rows(*written_rows) if pair[0].startswith(prefix)]
        first = sum(key < low for key, _ in mine)
        end = sum(key <= high for key, _ in mine)
        expected += [(number, *pair) for pair in mine[max(first - before, 0) : None if after is None else end + after]]
    columns = [pa.array(column, pa.binary()) for column in (prefixes, *zip(*ends, strict=True))]
    with rows_of(environment, dict(written_rows[0]), written_rows[1]) as rows:
        found = read_around(rows, columns[0], (columns[1], columns[2]), before=before, after=after)
        assert triples(found) == expected


def test_nothing_is_read_of_no_ranges(environment: Environment) -> None:
    with rows_of(environment, {vnode_prefix(TABLE, 3): b"v"}) as rows:
        assert len(read_all(rows, Ranges.of([]))) == 0
        assert len(read_first(rows, Ranges.of([]), 5)) == 0


def test_runs_are_merged_without_being_moved(environment: Environment) -> None:
    tuning: StoreTuning = environment.tuning
    with rows_of(environment, {vnode_prefix(TABLE, 3): b"v"}, {vnode_prefix(TABLE, 4): b"w"}) as rows:
        assert len(read_all(rows, Ranges.of_prefix(vnode_prefix(TABLE, 3)[:4]))) == 2
        assert rows.has_runs(TABLE) == (tuning is EAGER_RUNS)


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_ranges_in_each_vnode(start: bytes, stop: bytes) -> None:
    prefixes = [vnode_prefix(TABLE, vnode) for vnode in range(VNODE_COUNT)]
    assert Ranges.in_each_vnode(TABLE, start, stop) == Ranges.of([(p + start, p + stop) for p in prefixes])
