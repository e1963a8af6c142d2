"""When rows count as the expected rows."""

from __future__ import annotations

import hashlib

import pytest

from risingpy.sqllogictest.compare import result_lines, rows_match, value_text
from risingpy.sqllogictest.diff import render_diff
from risingpy.sqllogictest.records import SortMode


def test_values_as_a_file_shows_them() -> None:
    assert [value_text(value) for value in (None, "", "x y", "a\nb")] == ["NULL", "(empty)", "x y", "a\\nb"]


def test_order_matters_only_without_a_sort() -> None:
    rows = [("2", "b"), ("1", "a")]
    assert not rows_match(rows, ["1 a", "2 b"], "IT", SortMode.NOSORT)
    assert rows_match(rows, ["2 b", "1 a"], "IT", SortMode.NOSORT)
    assert rows_match(rows, ["1 a", "2 b"], "IT", SortMode.ROWSORT)
    assert rows_match(rows, ["1", "2", "a", "b"], "IT", SortMode.VALUESORT)
    assert rows_match(rows, ["b 1", "a 2"], "IT", SortMode.VALUESORT)
    assert not rows_match(rows, ["b 1"], "IT", SortMode.ROWSORT)


def test_blanks_between_values_are_free() -> None:
    assert rows_match([("1", "2024-01-01 00:00:00")], ["1   2024-01-01  00:00:00"], "IT", SortMode.NOSORT)


@pytest.mark.parametrize(
    ("came", "expected", "same"),
    [
        ("0.30000000000000004", "0.3", True),
        ("1.5000000000000000", "1.5", True),
        ("1e+16", "10000000000000000", True),
        ("1.001", "1.0", False),
        ("NaN", "NaN", True),
        ("Infinity", "Infinity", True),
        ("Infinity", "-Infinity", False),
        ("NaN", "0", False),
        ("NULL", "0", False),
        ("1e-17", "0", True),
    ],
)
def test_type_r_compares_by_value(came: str, expected: str, same: bool) -> None:
    assert rows_match([("a b", came)], [f"a b {expected}"], "TR", SortMode.NOSORT) is same
    assert rows_match([("a b", came), ("c", "1")], ["c 1", f"a b {expected}"], "TR", SortMode.ROWSORT) is same


def test_other_types_compare_by_text() -> None:
    assert not rows_match([("1.50",)], ["1.5"], "T", SortMode.NOSORT)


def test_long_results_are_hashed() -> None:
    rows = [("2", "b"), ("1", "a")]
    digest = hashlib.md5(b"1\na\n2\nb\n").hexdigest()
    assert result_lines(rows, SortMode.ROWSORT, hash_threshold=3) == [f"4 values hashing to {digest}"]
    assert result_lines(rows, SortMode.ROWSORT, hash_threshold=4) == ["1 a", "2 b"]
    assert rows_match(rows, [f"4 values hashing to {digest}"], "IT", SortMode.ROWSORT)
    assert not rows_match(rows, [f"4 values hashing to {digest}"], "IT", SortMode.NOSORT)
    assert not rows_match(rows[:1], [f"4 values hashing to {digest}"], "IT", SortMode.ROWSORT)


def test_a_diff_shows_what_differs() -> None:
    diff = render_diff(["1 a", "2 b", "3 c"], ["1 a", "2 x", "3 c"]).splitlines()
    assert diff == ["(- expected, + came)", "  1 a", "- 2 b", "+ 2 x", "  3 c"]


def test_a_long_diff_is_cut() -> None:
    diff = render_diff([str(i) for i in range(1000)], [])
    assert diff.startswith("(no rows came)\n- 0\n")
    assert diff.endswith("… and 940 lines more")
