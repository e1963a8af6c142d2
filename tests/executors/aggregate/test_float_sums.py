"""Sums of floating-point numbers: exact, whatever is inserted and retracted, and rounded once."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from risingpy.executors.change_chunk import make_chunk
from risingpy.functions.aggregate.exact_sums import rounded, sum_floats, sum_sums
from risingpy.plan.logical import AggCall
from risingpy.types import BIGINT, DOUBLE, INTEGER
from tests.executors.aggregate.test_aggregates import COUNT, VALUE, hash_agg
from tests.executors.bench import FragmentBench, leaf

finite = st.floats(allow_nan=False, allow_infinity=False)
singles = st.floats(allow_nan=False, allow_infinity=False, width=32)
signs = st.sampled_from([1, -1])


def summed(values: list[tuple[int, float]]) -> pa.BinaryArray:
    codes = np.zeros(len(values), np.int64)
    ops = np.array([sign for sign, _ in values], np.int8)
    return sum_floats(codes, ops, 1, np.array([value for _, value in values], np.float64))


def nearest(exact: Fraction) -> float:
    try:
        return float(exact)  # correctly rounded, by the language
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@given(st.lists(st.tuples(signs, finite), max_size=8))
def test_doubles_round_once(values: list[tuple[int, float]]) -> None:
    exact = sum((sign * Fraction(value) for sign, value in values), Fraction(0))
    assert rounded(summed(values), single=False).tolist() == [nearest(exact)]


@given(st.lists(st.tuples(signs, singles), max_size=8))
def test_reals_round_once(values: list[tuple[int, float]]) -> None:
    exact = sum((sign * Fraction(value) for sign, value in values), Fraction(0))
    (result,) = rounded(summed(values), single=True).tolist()
    if math.isinf(result):
        assert abs(exact) > Fraction(float(np.finfo(np.float32).max))
        return
    candidates = [np.nextafter(np.float32(result), np.float32(d)) for d in (-math.inf, math.inf)]
    error = abs(Fraction(result) - exact)
    assert all(error <= abs(Fraction(float(c)) - exact) for c in candidates if np.isfinite(c))


@given(st.lists(st.tuples(signs, finite), max_size=8), st.integers(0, 8), st.randoms())
def test_order_and_split_do_not_matter(values: list[tuple[int, float]], cut: int, order: random.Random) -> None:
    whole = summed(values).to_pylist()
    order.shuffle(values)
    parts = pa.concat_arrays([summed(values[:cut]), summed(values[cut:]), pa.array([None], pa.binary())])
    assert sum_sums(np.zeros(3, np.int64), 1, parts).to_pylist() == whole


def test_stored_bytes() -> None:
    """On disk: whoever changes these raises `formats.ENCODING`."""
    expected = {1.0: "2201000000", -1.5: "2100000080feffffff", 0.0: "", 5e-324: "0000400000"}
    assert {value: summed([(1, value)])[0].as_py().hex() for value in expected} == expected


def test_a_million_values_come_and_go() -> None:
    """20 orders of magnitude, in and out in another order: the sum is that of what is left, to the last bit."""
    rng = np.random.default_rng(5)
    number, batch, kept = 1_000_000, 100_000, 1_000
    values = rng.choice([-1, 1], number) * rng.uniform(1, 10, number) * 10.0 ** rng.integers(-10, 10, number)
    group = rng.integers(0, 3, number)
    types = [BIGINT, INTEGER, DOUBLE]
    plan = hash_agg([COUNT, AggCall("sum", (VALUE,), DOUBLE)], leaf(types))

    def rows(positions: np.ndarray, op: int) -> pa.Table:
        columns = [positions, group[positions].astype(np.int32), values[positions]]
        return make_chunk(np.full(len(positions), op, np.int8), [pa.array(column) for column in columns])

    answer: dict[int, float] = {}
    with FragmentBench(plan) as bench:
        leaving = rng.permutation(number)
        chunks = [rows(part, 1) for part in np.split(np.arange(number), number // batch)]
        chunks += [rows(part, -1) for part in np.array_split(leaving[kept:], number // batch)]
        for chunk in chunks:
            for change in bench.run(chunk).to_pylist():
                if change["op"] > 0:
                    answer[change["c0"]] = change["c2"]
        last = leaving[:kept]
        assert answer == {k: math.fsum(values[last[group[last] == k]]) for k in range(3)}
        changes = bench.run(rows(last[group[last] == 1], -1)).to_pylist()
        assert [change["op"] for change in changes] == [-1]
