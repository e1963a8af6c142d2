"""Grouping and sorting of binary keys."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.storage.codec.group_keys import group_rows, sort_indices

keys = st.binary(max_size=30) | st.lists(st.sampled_from([0, 1, 127, 128, 255]), max_size=20).map(bytes)


@st.composite
def key_arrays(draw: st.DrawFn) -> pa.BinaryArray:
    shared = draw(st.binary(max_size=20))
    pool = draw(st.lists(keys, min_size=1, max_size=20))
    items = draw(st.lists(st.sampled_from(pool) | keys, max_size=60))
    return pa.array([shared + item for item in items], pa.binary()).slice(draw(st.integers(0, 3)))


@given(key_arrays())
def test_sort(array: pa.BinaryArray) -> None:
    items = array.to_pylist()
    assert sort_indices(array).tolist() == sorted(range(len(items)), key=lambda i: items[i])


@given(key_arrays())
def test_groups(array: pa.BinaryArray) -> None:
    items = array.to_pylist()
    codes, firsts = group_rows(array)
    distinct = list(dict.fromkeys(items))
    assert codes.tolist() == [distinct.index(item) for item in items]
    assert firsts.tolist() == [items.index(item) for item in distinct]


@pytest.mark.parametrize("distinct", [1, 100, 50_000])
@pytest.mark.parametrize("form", ["{:08d}", "a long prefix that all keys share: {}", "{:08d} twelve more"])
def test_many(distinct: int, form: str) -> None:
    numbers = np.random.default_rng(1).integers(0, distinct, 50_000)
    items = np.array([form.format(number).encode() for number in numbers], object)
    array = pa.array(items, pa.binary())
    assert sort_indices(array).tolist() == np.argsort(items, kind="stable").tolist()
    codes, firsts = group_rows(array)
    assert (items[firsts][codes] == items).all()
    assert len(firsts) == len(set(items))


def test_long_runs_of_equal_leading_bytes() -> None:
    """Keys that differ only behind their first 8 bytes, which is what the sort looks at first."""
    numbers = np.random.default_rng(1).permutation(5_000)
    items = [b"\xff" * 8 * (number % 2) + b"same...." + b"%05d" % number for number in numbers]
    order = sort_indices(pa.array(items))
    assert [items[i] for i in order] == sorted(items)
