"""Many keys at once, by LMDB's own functions: as py-lmdb does it, in fuller pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import lmdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from risingpy.storage.engine import native_lmdb
from risingpy.storage.engine.native_lmdb import get_values, read_ranges, read_rows, write_rows
from tests.examples import examples

ROWS = b"rows"


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[lmdb.Environment]:
    handle = lmdb.open(str(tmp_path), max_dbs=2, map_size=1 << 27)
    handle.open_db(ROWS)
    native_lmdb.prepare(handle, [ROWS])
    yield handle
    handle.close()


def begin(environment: lmdb.Environment) -> lmdb.Transaction:
    return environment.begin(environment.open_db(ROWS), write=True)


def stored(transaction: lmdb.Transaction) -> dict[bytes, bytes]:
    with transaction.cursor() as cursor:
        return {bytes(key): bytes(value) for key, value in cursor.iternext()}


def binary(items: Sequence[bytes | None]) -> pa.BinaryArray:
    return pa.array(items, pa.binary())


def test_it_is_the_native_way(environment: lmdb.Environment) -> None:
    transaction = begin(environment)
    with native_lmdb._cursor(transaction, native_lmdb.FEWEST_ROWS) as (cursor, page_bytes):
        assert cursor
        assert page_bytes == environment.stat()["psize"]
    transaction.abort()
    with native_lmdb._cursor(transaction, native_lmdb.FEWEST_ROWS) as (cursor, _):
        assert cursor is None  # it has ended


numbers = st.integers(0, 4000)
writes = st.lists(
    st.tuples(numbers, st.integers(1, 300), st.integers(1, 90), st.booleans()),  # first, count, size, puts
    min_size=1,
    max_size=6,
)


@settings(examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(writes, min_size=1, max_size=4), st.booleans())
def test_writes_and_reads_are_those_of_a_dictionary(
    environment: lmdb.Environment, batches: list[list[tuple[int, int, int, bool]]], long_values: bool
) -> None:
    """Also of runs that are just long enough, in front of rows that are as large as a page."""
    transaction = begin(environment)
    model: dict[bytes, bytes] = {}
    for batch in batches:
        rows: dict[bytes, bytes | None] = {}
        for first, count, size, puts in batch:
            for number in range(first, first + count):
                value = bytes([size]) * (size * 40 if long_values else size)
                rows[b"key %05d" % number] = value if puts else None
        keys = sorted(rows)
        write_rows(transaction, binary(keys), binary([rows[key] for key in keys]))
        model = {key: value for key, value in {**model, **rows}.items() if value is not None}
        assert stored(transaction) == model
        asked = [b"key %05d" % number for number in range(0, 4400, 7)]
        assert get_values(transaction, binary(asked)).to_pylist() == [model.get(key) for key in asked]
        assert get_values(transaction, binary(asked).slice(3, 100)).to_pylist() == [model.get(k) for k in asked[3:103]]
    transaction.abort()


keys_of_few_bytes = st.binary(max_size=3).map(lambda end: b"k" + end)
bounds = st.lists(st.tuples(keys_of_few_bytes, keys_of_few_bytes, st.integers(0, 5)), max_size=8)


@settings(examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(keys_of_few_bytes, st.binary(max_size=5), max_size=60),
    *(bounds, st.booleans(), st.booleans(), st.integers(1, 9), st.sampled_from(["native", "slow"])),
)
def test_ranges_are_those_of_a_sorted_list(
    environment: lmdb.Environment,
    rows: dict[bytes, bytes],
    bounds: list[tuple[bytes, bytes, int]],
    with_stops: bool,
    with_limits: bool,
    page_rows: int,
    way: str,
) -> None:
    transaction = begin(environment)
    write_rows(transaction, binary(sorted(rows)), binary([rows[key] for key in sorted(rows)]))
    ordered = sorted(rows.items())
    expected = []
    for number, (start, stop, limit) in enumerate(bounds):
        mine = [pair for pair in ordered if (start <= pair[0] < stop if with_stops else pair[0].startswith(start))]
        expected += [(number, *pair) for pair in (mine[:limit] if with_limits else mine)]
    found: list[tuple[int, bytes, bytes]] = []
    starts, stops = binary([start for start, _, _ in bounds]), binary([stop for _, stop, _ in bounds])
    limits = np.array([limit for _, _, limit in bounds], np.int64) if with_limits else None
    for numbers, keys, values in read_ranges(transaction, starts, stops if with_stops else None, limits, page_rows):
        assert 0 < len(numbers) <= page_rows
        found += zip(numbers.tolist(), keys.to_pylist(), values.to_pylist(), strict=True)
    assert found == expected
    with mock.patch.object(native_lmdb, "FEWEST_ROWS", 1 if way == "native" else 1000):
        for start, stop, limit in bounds:
            for behind in (False, True):
                keys, values = read_rows(transaction, start, stop, limit + 1, behind=behind)
                mine = [pair for pair in ordered if start <= pair[0] < stop and not (behind and pair[0] == start)]
                assert list(zip(keys.to_pylist(), values.to_pylist(), strict=True)) == mine[: limit + 1]
    transaction.abort()


def test_pages_of_growing_runs_are_full(environment: lmdb.Environment) -> None:
    """Many places at which keys grow, as vnodes of row ids: halves of pages would stay empty."""
    places, times, each = 50, 12, 200
    value = bytes(60)
    for time in range(times):
        transaction = begin(environment)
        keys = [b"%03d %09d" % (place, time * each + k) for place in range(places) for k in range(each)]
        write_rows(transaction, binary(keys), binary([value] * len(keys)))
        transaction.commit()
    rows = environment.open_db(ROWS)
    with environment.begin(rows) as transaction:
        statistics = transaction.stat(rows)
    assert statistics["entries"] == places * times * each
    needed = statistics["entries"] * (13 + 60 + 1 + 10)  # the value's pad, the node's header and its place in the page
    assert needed / (statistics["leaf_pages"] * statistics["psize"]) > 0.8


def test_keys_are_found_in_any_order(environment: lmdb.Environment) -> None:
    transaction = begin(environment)
    keys = [b"%05d" % number for number in range(5000)]
    write_rows(transaction, binary(keys), binary(keys))
    asked = [keys[place] for place in np.random.default_rng(1).permutation(5000).tolist()]
    assert get_values(transaction, binary(asked)).to_pylist() == asked
    transaction.abort()


def test_a_full_map_is_told_as_py_lmdb_tells_it(tmp_path: Path) -> None:
    handle = lmdb.open(str(tmp_path), max_dbs=2, map_size=1 << 17)
    handle.open_db(ROWS)
    native_lmdb.prepare(handle, [ROWS])
    transaction = begin(handle)
    with pytest.raises(lmdb.MapFullError):
        write_rows(transaction, binary([b"%04d" % k for k in range(2000)]), binary([bytes(200)] * 2000))
    transaction.abort()
    handle.close()


def test_without_lmdbs_functions_it_goes_the_slow_way(
    environment: lmdb.Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_lmdb, "_layouts", [None])
    transaction = begin(environment)
    keys = binary([b"%04d" % k for k in range(100)])
    write_rows(transaction, keys, keys)
    write_rows(transaction, keys, binary([None if k % 2 else b"new" for k in range(100)]))
    assert get_values(transaction, keys).to_pylist() == [None if k % 2 else b"new" for k in range(100)]
    transaction.abort()


def test_memory_that_is_not_there_is_not_read() -> None:
    assert native_lmdb._read(0, 8) is None
    assert native_lmdb._read(1 << 46, 8) is None
