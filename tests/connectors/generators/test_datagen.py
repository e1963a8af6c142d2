"""datagen: what its options give, any cut of ranges, and its errors."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from risingpy.connectors.generators.clock import Clock
from risingpy.connectors.generators.datagen import DatagenConnector
from risingpy.connectors.seekable import SplitEnd
from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NUMERIC,
    REAL,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    array_of,
    numeric,
    struct_of,
)

BEGIN = {"datagen.begin.millis": "1700000000000"}
POINT = struct_of(["x", "y"], [SMALLINT, REAL])
COLUMNS = [
    ("i2", SMALLINT), ("i4", INTEGER), ("i8", BIGINT), ("f4", REAL), ("f8", DOUBLE), ("n", NUMERIC),
    ("n2", numeric(9, 3)),
    ("t", VARCHAR), ("b", BOOLEAN), ("d", DATE), ("ts", TIMESTAMP), ("tz", TIMESTAMPTZ), ("a", array_of(BIGINT)),
    ("s", POINT), ("points", array_of(POINT)), ("times", array_of(TIMESTAMP)),
]  # fmt: skip


def rows(
    options: dict[str, str], columns: list[tuple[str, SqlType]], start: int, end: int, split: str = "0"
) -> pa.Table:
    connector = DatagenConnector(BEGIN | options)
    connector.check_columns(columns)
    arrays = connector.row_reader().read(split, start, end, columns)
    return pa.table(dict(zip([name for name, _ in columns], arrays, strict=True)))


@settings(max_examples=25)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=5).map(sorted), st.sampled_from(["absolute", "relative"]))
def test_any_cut_gives_the_same_rows(cuts: list[int], mode: str) -> None:
    options = {
        "fields.i8.kind": "sequence",
        "fields.a._.kind": "sequence",
        "fields.a.length": "3",
        "fields.times._.max_past_mode": mode,
    }
    whole = rows(options, COLUMNS, 0, 60)
    parts = [rows(options, COLUMNS, start, end) for start, end in zip([0, *cuts], [*cuts, 60], strict=True)]
    assert pa.concat_tables(parts).equals(whole)
    for name, type_ in COLUMNS:
        assert whole[name].type == type_.arrow
        assert whole[name].null_count == 0


def test_splits_share_the_rows() -> None:
    columns = [("id", BIGINT), ("t", VARCHAR)]
    options = {"fields.id.kind": "sequence", "fields.id.start": "5"}
    alone = rows(options, columns, 0, 9).to_pylist()
    three = pa.concat_tables([rows(options | {"datagen.split.num": "3"}, columns, 0, 3, str(k)) for k in range(3)])
    assert sorted(three.to_pylist(), key=lambda row: row["id"]) == alone
    assert [row["id"] for row in alone] == list(range(5, 14))


def test_random_values_keep_their_limits() -> None:
    options = {"fields.k.min": "-3", "fields.k.max": "3", "fields.x.min": "0.5", "fields.x.max": "0.75"}
    found = rows(
        options | {"fields.t.length": "17"}, [("k", INTEGER), ("x", DOUBLE), ("t", VARCHAR)], 0, 2000
    ).to_pydict()
    assert set(found["k"]) == set(range(-3, 4))
    assert min(found["x"]) >= 0.5 and max(found["x"]) < 0.75 and len(set(found["x"])) == 2000
    assert {len(text) for text in found["t"]} == {17} and len(set(found["t"])) == 2000
    extremes = {"fields.k.min": str(-(1 << 63)), "fields.k.max": str((1 << 63) - 1)}
    assert len(set(rows(extremes, [("k", BIGINT)], 0, 1000)["k"].to_pylist())) == 1000


def test_a_seed_gives_other_values() -> None:
    found = [rows({"fields.k.seed": seed}, [("k", INTEGER)], 0, 100) for seed in ("1", "1", "2")]
    assert found[0].equals(found[1]) and not found[0].equals(found[2])


def test_the_past_of_times() -> None:
    base = 1_700_000_000_000_000
    past = {"fields.ts.max_past": "10 s"}
    times = rows(past, [("ts", TIMESTAMP)], 0, 1000)["ts"].cast(pa.int64()).to_pylist()
    assert base - 10_000_000 <= min(times) < base - 9_000_000 and base - 1_000_000 < max(times) <= base
    now = {"fields.ts.max_past": "0 s", "fields.ts.max_past_mode": "relative"}
    times = rows(now, [("ts", TIMESTAMP)], 0, 3)["ts"].cast(pa.int64()).to_pylist()
    assert times == [base, base + 100_000, base + 200_000]  # ten rows a second
    fixed = {"fields.ts.max_past": "0 s", "fields.ts.basetime": "2026-01-01T00:00:00+01:00"}
    assert rows(fixed, [("ts", TIMESTAMP)], 0, 1)["ts"][0].as_py().isoformat() == "2025-12-31T23:00:00"


def test_rows_come_with_time_and_end_with_the_first_sequence() -> None:
    assert [Clock(1_000_000, 100_000_000, 25).count(1_000_000 + ms * 1_000) for ms in (-5, 0, 99, 100, 2000, 9999)] == [
        0, 0, 0, 1, 20, 25,
    ]  # fmt: skip
    ended = {
        "fields.id.kind": "sequence", "fields.id.start": "1", "fields.id.end": "10", "datagen.split.num": "4",
        "fields.a._.kind": "sequence", "fields.a._.end": "99999", "fields.a.length": "3",
    }  # fmt: skip
    ends = DatagenConnector(BEGIN | ended).splits().ends()
    assert ends == {split: SplitEnd(0, end, 0) for split, end in {"0": 3, "1": 3, "2": 2, "3": 2}.items()}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fields.id.sort": "x"}, 'unknown option "fields.id.sort"'),
        ({"fields.id.kind": "serial"}, "is sequence or random"),
        ({"fields.other.kind": "random"}, 'option "fields.other.kind" is of no column'),
        ({"fields.t.kind": "sequence"}, "sequences are of numbers"),
        ({"fields.id.min": "7", "fields.id.max": "6"}, "is greater than"),
        ({"fields.id.min": "nan"}, "is a number"),
        ({"fields.id.max": "70000"}, "out of range for type smallint"),
        ({"fields.id.kind": "sequence", "fields.id.end": "70000"}, "out of range for type smallint"),
        ({"fields.ts.max_past": "often"}, "is an interval"),
        ({"fields.ts.max_past_mode": "far"}, "is absolute or relative"),
        ({"fields.ts.basetime": "noon"}, "is a time"),
        ({"datagen.rows.per.second": "0"}, "is 1 to"),
        ({"datagen.split.num": "many"}, "is a whole number"),
        ({"fields.t.length": "100000"}, "is 0 to 1000"),
        ({"fields.a.length": "500", "fields.a._.length": "500"}, "more than 1000 values"),
    ],
)
def test_wrong_options(options: dict[str, str], message: str) -> None:
    columns = [("id", SMALLINT), ("t", VARCHAR), ("ts", TIMESTAMP), ("a", array_of(array_of(INTEGER)))]
    with pytest.raises(InvalidParameterValue, match=message):
        DatagenConnector(BEGIN | options).check_columns(columns)


def test_types_without_values() -> None:
    with pytest.raises(FeatureNotSupported, match="no values of type interval"):
        DatagenConnector(BEGIN).check_columns([("i", INTERVAL)])
