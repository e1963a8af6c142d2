"""Both bindings to LMDB do what a dictionary and a sorted list do; the kernels do it in fuller pages."""

from __future__ import annotations

import ctypes.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import lmdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from risingpy.errors import InternalError
from risingpy.storage.engine import lmdb_environment
from risingpy.storage.engine.lmdb_environment import BINDING_VARIABLE, open_environment
from risingpy.storage.engine.lmdb_library import find_library, library_at
from risingpy.storage.engine.native_lmdb import NativeHandle
from risingpy.storage.engine.py_lmdb import PyLmdbHandle
from risingpy.storage.engine.ranges import Direction, Ranges
from risingpy.storage.engine.transactions import Handle, StoreTransaction, scan
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning
from tests.examples import examples

ROWS, NOTES = b"rows", b"notes"
SMALL_PAGES = StoreTuning(first_page_rows=1, rows_per_range=1, page_growth=2)


def open_handle(binding: str, path: Path, *, map_bytes: int = 1 << 27, tuning: StoreTuning = SMALL_PAGES) -> Handle:
    handle: Handle
    if binding == "native":
        library = find_library()
        assert library is not None
        handle = NativeHandle(library, path, map_bytes=map_bytes, databases=2, readers=16, tuning=tuning)
    else:
        handle = PyLmdbHandle(path, map_bytes=map_bytes, databases=2, readers=16, tuning=tuning)
    handle.open_databases([ROWS, NOTES])
    return handle


@pytest.fixture(params=["native", "py-lmdb"])
def handle(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Handle]:
    opened = open_handle(request.param, tmp_path)
    yield opened
    opened.close()


def binary(items: Sequence[bytes | None]) -> pa.BinaryArray:
    return pa.array(items, pa.binary())


def stored(transaction: StoreTransaction) -> dict[bytes, bytes]:
    return dict(scan(transaction, b"", db=ROWS))


numbers = st.integers(0, 4000)
writes = st.lists(
    st.tuples(numbers, st.integers(1, 300), st.integers(1, 90), st.booleans()),  # first, count, size, puts
    min_size=1,
    max_size=6,
)


@settings(examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(writes, min_size=1, max_size=4), st.booleans(), st.sampled_from(["write", "replace", "replace known"]))
def test_writes_and_reads_are_those_of_a_dictionary(
    handle: Handle, batches: list[list[tuple[int, int, int, bool]]], long_values: bool, how: str
) -> None:
    """Also of runs that are just long enough, before rows that are as large as a page."""
    transaction = handle.begin(write=True)
    model: dict[bytes, bytes] = {}
    for batch in batches:
        rows: dict[bytes, bytes | None] = {}
        for first, count, size, puts in batch:
            for number in range(first, first + count):
                value = bytes([size]) * (size * 40 if long_values else size)
                rows[b"key %05d" % number] = value if puts else None
        keys = sorted(rows)
        if how == "write":
            transaction.write_rows(binary(keys), binary([rows[key] for key in keys]))
        else:
            new = np.array([key not in model for key in keys]) if how == "replace known" else None
            old = transaction.replace_rows(binary(keys), binary([rows[key] for key in keys]), new)
            old.validate(full=True)
            assert old.to_pylist() == [model.get(key) for key in keys]
        model = {key: value for key, value in {**model, **rows}.items() if value is not None}
        assert stored(transaction) == model
        asked = [b"key %05d" % number for number in range(0, 4400, 7)]
        assert transaction.get_values(binary(asked)).to_pylist() == [model.get(key) for key in asked]
        sliced = transaction.get_values(binary(asked).slice(3, 100)).to_pylist()
        assert sliced == [model.get(key) for key in asked[3:103]]
    transaction.abort()


keys_of_few_bytes = st.binary(max_size=3).map(lambda end: b"k" + end)
bounds_of_ranges = st.lists(st.tuples(keys_of_few_bytes, keys_of_few_bytes, st.integers(0, 5)), max_size=8)


@settings(examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(keys_of_few_bytes, st.binary(max_size=5), max_size=60),
    *(bounds_of_ranges, st.booleans(), st.booleans(), st.none() | st.integers(0, 20)),
    *(st.integers(1, 9), st.sampled_from(Direction), st.booleans()),
)
def test_reads_are_those_of_a_sorted_list(
    handle: Handle,
    rows: dict[bytes, bytes],
    bounds: list[tuple[bytes, bytes, int]],
    are_prefixes: bool,
    with_limits: bool,
    most: int | None,
    page_rows: int,
    direction: Direction,
    with_values: bool,
) -> None:
    transaction = handle.begin(write=True)
    transaction.write_rows(binary(sorted(rows)), binary([rows[key] for key in sorted(rows)]))
    ordered = sorted(rows.items(), reverse=direction is Direction.BACKWARD)
    expected = []
    for number, (start, stop, limit) in enumerate(bounds):
        mine = [pair for pair in ordered if (pair[0].startswith(start) if are_prefixes else start <= pair[0] < stop)]
        expected += [
            (number, key, value if with_values else b"") for key, value in (mine[:limit] if with_limits else mine)
        ]
    starts = binary([start for start, _, _ in bounds])
    ranges = Ranges.of_prefixes(starts) if are_prefixes else Ranges.of([(start, stop) for start, stop, _ in bounds])
    limits = np.array([limit for _, _, limit in bounds], np.int64) if with_limits else None
    found: list[tuple[int, bytes, bytes]] = []
    pages = transaction.read(ranges, limits, direction, most=most, page_rows=page_rows, with_values=with_values)
    for batch in pages:
        assert 0 < len(batch) <= page_rows
        found += zip(batch.numbers.tolist(), batch.keys.to_pylist(), batch.values.to_pylist(), strict=True)
    assert found == expected[:most]
    transaction.abort()


def test_reads_may_take_turns(handle: Handle) -> None:
    """A transaction notes a small page in one place, whichever read it is of."""
    transaction = handle.begin(write=True)
    keys = [b"key %03d" % number for number in range(300)]
    transaction.write_rows(binary(keys), binary(keys))
    everything = Ranges.of_prefix(b"key")
    forward = transaction.read(everything, page_rows=7)
    backward = transaction.read(everything, None, Direction.BACKWARD, page_rows=5)
    found: list[bytes] = []
    found_backward: list[bytes] = []
    for batch in forward:
        found += batch.keys.to_pylist()
        found_backward += next(backward).keys.to_pylist()  # has more pages
        assert transaction.get_values(binary([keys[5], b"none"])).to_pylist() == [keys[5], None]
        assert transaction.first_row(keys[7], db=ROWS, beyond=True) == (keys[8], keys[8])
    found_backward += [key for batch in backward for key in batch.keys.to_pylist()]
    assert (found, found_backward) == (keys, keys[::-1])
    transaction.abort()


def test_which_keys_are_there(handle: Handle) -> None:
    transaction = handle.begin(write=True)
    stored = [b"ab", b"abc", b"b" * 300, b"c\0"]
    transaction.write_rows(binary(stored), binary([b""] * len(stored)))
    transaction.put(b"d", b"", db=NOTES)
    asked = [b"c", b"a", b"ab", b"abc", b"abcd", b"b" * 299, b"b" * 301, b"c\0", b"d", b"\0", b"\xff" * 9]
    for _ in range(2):  # in a transaction that writes, and in one that reads
        assert transaction.are_there(asked, db=ROWS, whole=True) == [each in stored for each in asked]
        begun = [any(key.startswith(each) for key in stored) for each in asked]
        assert transaction.are_there(asked, db=ROWS, whole=False) == begun
        assert transaction.are_there([b"c", b"d"], db=NOTES, whole=True) == [False, True]
        assert transaction.are_there([], db=ROWS, whole=True) == []
        transaction.commit()
        transaction = handle.begin()
    transaction.abort()


@given(st.lists(st.binary(min_size=1, max_size=4).filter(lambda prefix: prefix.strip(b"\xff")), max_size=5))
def test_ends_of_prefixes_are_the_least_keys_after_them(prefixes: list[bytes]) -> None:
    ends = Ranges.of_prefixes(pa.array([b"sliced off", *prefixes], pa.binary()).slice(1)).stops.to_pylist()
    for prefix, end in zip(prefixes, ends, strict=True):
        assert prefix + b"\xff" * 9 < end
        assert not end.endswith(b"\x00") and end[:-1] == prefix[: len(end) - 1] and end[-1] == prefix[len(end) - 1] + 1


def test_databases_are_apart(handle: Handle) -> None:
    transaction = handle.begin(write=True)
    transaction.put(b"a", b"row", db=ROWS)
    transaction.put(b"a", pa.py_buffer(b"note"), db=NOTES)
    transaction.put(b"b", b"", db=NOTES)
    assert (transaction.get(b"a", db=ROWS), transaction.get(b"a", db=NOTES)) == (b"row", b"note")
    assert (transaction.get(b"b", db=NOTES), transaction.get(b"b", db=ROWS)) == (b"", None)
    assert transaction.stored_value(b"a", db=NOTES).to_pybytes() == b"note"
    assert transaction.first_row(b"Z", db=NOTES) == (b"a", b"note")
    assert transaction.first_row(b"a", db=NOTES) == (b"a", b"note")
    assert transaction.first_row(b"a", db=NOTES, beyond=True) == (b"b", b"")
    assert transaction.first_row(b"aa", db=NOTES) == (b"b", b"")
    assert transaction.first_row(b"aa", db=NOTES, beyond=True) == (b"b", b"")
    assert transaction.first_row(b"b", db=NOTES, beyond=True) is None
    assert transaction.first_row(b"aa", db=None) is None
    assert list(scan(transaction, b"", db=NOTES)) == [(b"a", b"note"), (b"b", b"")]
    assert list(scan(transaction, b"b", db=NOTES)) == [(b"", b"")]
    transaction.delete(b"a", db=ROWS)
    transaction.delete(b"a", db=ROWS)
    transaction.commit()
    transaction.abort()  # harmless
    reader = handle.begin()
    assert (reader.entries(ROWS), reader.entries(NOTES)) == (0, 2)
    assert list(scan(reader, b"", db=NOTES)) == [(b"a", b"note"), (b"b", b"")]
    reader.abort()


def test_a_reader_sees_the_state_at_which_it_began(handle: Handle) -> None:
    reader = handle.begin()
    writer = handle.begin(write=True)
    writer.put(b"a", b"new", db=ROWS)
    assert writer.id == reader.id + 1
    writer.commit()
    assert reader.get(b"a", db=ROWS) is None
    reader.abort()
    reader = handle.begin()
    assert reader.get(b"a", db=ROWS) == b"new"
    reader.abort()


def test_what_is_dropped_is_not_committed_and_blocks_nobody(handle: Handle) -> None:
    writer = handle.begin(write=True)
    writer.put(b"a", b"lost", db=ROWS)
    del writer
    writer = handle.begin(write=True)
    assert writer.get(b"a", db=ROWS) is None
    writer.abort()


def test_a_transaction_that_is_over_is_refused(tmp_path: Path) -> None:
    handle = open_handle("native", tmp_path)
    transaction = handle.begin()
    left_open = handle.begin()
    transaction.abort()
    with pytest.raises(InternalError):
        transaction.get(b"a", db=ROWS)
    handle.close()
    with pytest.raises(InternalError):
        list(left_open.read(Ranges.of_prefix(b"a")))
    with pytest.raises(InternalError):
        handle.begin()


def test_a_full_map_is_told_alike(tmp_path: Path) -> None:
    told = set()
    for binding in ("native", "py-lmdb"):
        (tmp_path / binding).mkdir()
        handle = open_handle(binding, tmp_path / binding, map_bytes=1 << 17)
        transaction = handle.begin(write=True)
        with pytest.raises(lmdb.MapFullError) as error:
            transaction.write_rows(binary([b"%04d" % k for k in range(2000)]), binary([bytes(200)] * 2000))
        told.add(str(error.value).partition(": ")[2].partition(" (")[0])
        transaction.abort()
        handle.set_map_bytes(1 << 22)
        assert handle.map_bytes == 1 << 22
        transaction = handle.begin(write=True)
        transaction.write_rows(binary([b"%04d" % k for k in range(2000)]), binary([bytes(200)] * 2000))
        transaction.commit()
        handle.close()
    assert len(told) == 1


def test_each_binding_opens_what_the_other_wrote(tmp_path: Path) -> None:
    for epoch, binding in enumerate(("native", "py-lmdb", "native")):
        handle = open_handle(binding, tmp_path)
        transaction = handle.begin(write=True)
        assert len(stored(transaction)) == epoch
        transaction.put(b"%d" % epoch, b"row", db=ROWS)
        transaction.commit()
        handle.close()


def test_a_copy_is_what_the_transaction_sees(handle: Handle, tmp_path: Path) -> None:
    writer = handle.begin(write=True)
    writer.put(b"a", b"row", db=ROWS)
    writer.commit()
    reader = handle.begin()
    writer = handle.begin(write=True)
    writer.put(b"b", b"later", db=ROWS)
    writer.commit()
    (tmp_path / "copy").mkdir()
    handle.copy(tmp_path / "copy", reader)
    reader.abort()
    copy = open_handle("native", tmp_path / "copy")
    transaction = copy.begin()
    assert stored(transaction) == {b"a": b"row"}
    transaction.abort()
    copy.close()


def test_pages_of_growing_runs_are_full(tmp_path: Path) -> None:
    """Many places at which keys grow, as vnodes of row ids: halves of pages would stay empty."""
    handle = open_handle("native", tmp_path, tuning=DEFAULT_TUNING)
    places, times, each = 50, 12, 200
    value = bytes(60)
    for time in range(times):
        transaction = handle.begin(write=True)
        keys = [b"%03d %09d" % (place, time * each + k) for place in range(places) for k in range(each)]
        transaction.write_rows(binary(keys), binary([value] * len(keys)))
        transaction.commit()
    handle.close()
    with lmdb.open(str(tmp_path), max_dbs=2) as opened, opened.begin() as reader:
        statistics = reader.stat(opened.open_db(ROWS, txn=reader))
    assert statistics["entries"] == places * times * each
    needed = statistics["entries"] * (13 + 60 + 1 + 10)  # the value's pad, the node's header and its place in the page
    assert needed / (statistics["leaf_pages"] * statistics["psize"]) > 0.8


def test_keys_are_found_in_any_order(handle: Handle) -> None:
    transaction = handle.begin(write=True)
    keys = [b"%05d" % number for number in range(5000)]
    transaction.write_rows(binary(keys), binary(keys))
    asked = [keys[place] for place in np.random.default_rng(1).permutation(5000).tolist()]
    assert transaction.get_values(binary(asked)).to_pylist() == asked
    transaction.abort()


def opened_with(path: Path) -> type[Handle]:
    environment = open_environment(path, databases=[ROWS], map_size=1 << 20)
    found = type(environment.handle)
    environment.write(lambda transaction: transaction.put(b"a", b"row", db=ROWS))
    environment.close()
    return found


def test_py_lmdb_takes_over_where_lmdbs_functions_are_hidden(tmp_path: Path) -> None:
    other = ctypes.util.find_library("c")
    assert other is not None
    assert library_at(other) is None
    assert library_at(str(tmp_path / "none.so")) is None
    assert opened_with(tmp_path / "native") is NativeHandle
    with mock.patch.object(lmdb_environment, "find_library", return_value=None):
        assert opened_with(tmp_path / "hidden") is PyLmdbHandle
    with mock.patch.dict(os.environ, {BINDING_VARIABLE: "py-lmdb"}):
        assert opened_with(tmp_path / "chosen") is PyLmdbHandle
