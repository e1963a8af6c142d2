"""Parquet files: any range of rows, and what columns become."""

from __future__ import annotations

import datetime
import random
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.registry import connector_of, file_connector_of
from risingpy.connectors.seekable import RowReader
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SourceUnavailable
from risingpy.types import BIGINT, DOUBLE, INTEGER, JSONB, NUMERIC, VARCHAR, SqlType, array_of
from risingpy.types.forms import text_column
from tests.connectors.stored_files.files import put, put_parquet

PARQUET = MessageFormat("plain", "parquet")
DAY = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901)


def options(root: Path) -> dict[str, str]:
    return {"connector": "posix_fs", "posix_fs.root": str(root)}


def reader_of(root: Path) -> RowReader:
    return connector_of(options(root), PARQUET).row_reader()


def test_any_cut_of_ranges_gives_the_same_rows(tmp_path: Path) -> None:
    put_parquet(tmp_path / "f", pa.table({"id": range(5_000), "twice": range(0, 10_000, 2)}), rows_of_group=700)
    reader, chance = reader_of(tmp_path), random.Random(5)
    for _ in range(5):
        ranges = list(pairwise(sorted({0, 5_000, *(chance.randrange(5_000) for _ in range(6))})))
        if chance.random() < 0.5:
            chance.shuffle(ranges)
        found = {a: reader.read("f", a, b, [("twice", BIGINT), ("none", VARCHAR)]) for a, b in ranges}
        assert [v for a in sorted(found) for v in found[a][0].to_pylist()] == list(range(0, 10_000, 2))
        assert all(len(arrays[1]) == arrays[1].null_count == len(arrays[0]) for arrays in found.values())
    assert [len(array) for array in reader.read("f", 10, 40, [])] == []


def test_threads_read_at_the_same_time(tmp_path: Path) -> None:
    put_parquet(tmp_path / "f", pa.table({"id": range(200_000)}), rows_of_group=50_000)
    reader = reader_of(tmp_path)

    def read(start: int) -> list[int]:
        [found] = reader.read("f", start, start + 1_000, [("id", BIGINT)])
        return list(found.to_pylist())

    with ThreadPoolExecutor(4) as pool:
        assert [v for part in pool.map(read, range(0, 200_000, 1_000)) for v in part] == list(range(200_000))


TYPES: list[tuple[pa.DataType, Any, str, str]] = [
    (pa.bool_(), True, "boolean", "t"),
    (pa.int8(), -5, "smallint", "-5"),
    (pa.uint8(), 255, "smallint", "255"),
    (pa.uint16(), 65_535, "integer", "65535"),
    (pa.int32(), 7, "integer", "7"),
    (pa.uint32(), 2**32 - 1, "bigint", "4294967295"),
    (pa.uint64(), 2**64 - 1, "numeric", "18446744073709551615"),
    (pa.float32(), 1.5, "real", "1.5"),
    (pa.float64(), 0.1, "double precision", "0.1"),
    (pa.decimal128(10, 2), Decimal("1.50"), "numeric", "1.50"),
    (pa.decimal256(50, 3), Decimal("1.500"), "numeric", "1.500"),
    (pa.date32(), DAY.date(), "date", "2026-01-02"),
    (pa.time64("us"), DAY.time(), "time without time zone", "03:04:05.678901"),
    (pa.timestamp("ms"), DAY.replace(microsecond=678000), "timestamp without time zone", "2026-01-02 03:04:05.678"),
    (pa.timestamp("ns"), DAY, "timestamp without time zone", "2026-01-02 03:04:05.678901"),
    (pa.timestamp("us", "UTC"), DAY, "timestamp with time zone", "2026-01-02 03:04:05.678901+00"),
    (pa.large_string(), "é", "character varying", "é"),
    (pa.binary(2), b"\x01\xff", "bytea", "\\x01ff"),
    (pa.dictionary(pa.int32(), pa.string()), "d", "character varying", "d"),
    (pa.list_(pa.int8()), [1, None], "smallint[]", "{1,NULL}"),
    (pa.large_list(pa.string()), ["a", "b"], "character varying[]", "{a,b}"),
    (pa.map_(pa.string(), pa.uint8()), [("k", 1)], "map(character varying,smallint)", "{k:1}"),
    (
        pa.struct([("a", pa.uint16()), ("b", pa.list_(pa.date32()))]),
        {"a": 1, "b": [DAY.date()]},
        "",
        "(1,{2026-01-02})",
    ),
]


@pytest.mark.parametrize(("type_", "value", "name", "text"), TYPES, ids=[str(case[0]) for case in TYPES])
def test_types(tmp_path: Path, type_: pa.DataType, value: Any, name: str, text: str) -> None:
    plain = type_.value_type if pa.types.is_dictionary(type_) else type_
    column = pa.array([value, None, value], plain)
    put_parquet(tmp_path / "f", pa.table({"c": column.cast(type_)}))
    files = file_connector_of(options(tmp_path))
    assert files is not None
    [(column_name, found)] = files.columns()
    assert column_name == "c"
    assert not name or str(found) == name
    [array] = reader_of(tmp_path).read("f", 0, 3, [("c", found)])
    assert array.type == found.arrow
    array.validate(full=True)
    assert text_column(found, array).to_pylist() == [text, None, text]


@pytest.mark.parametrize(
    ("values", "type_", "expected"),
    [
        (pa.array([1, 2], pa.int32()), BIGINT, [1, 2]),
        (pa.array(["1", "2"]), INTEGER, [1, 2]),
        (pa.array([1, 2]), VARCHAR, ["1", "2"]),
        (pa.array([1, None]), DOUBLE, [1.0, None]),
        (pa.array(['{"a": 1}', None]), JSONB, ['{"a": 1}', None]),
        (pa.array([["1"], None]), array_of(INTEGER), [[1], None]),
    ],
)
def test_columns_of_other_types(tmp_path: Path, values: pa.Array, type_: SqlType, expected: list[Any]) -> None:
    put_parquet(tmp_path / "f", pa.table({"C": values}))
    [found] = reader_of(tmp_path).read("f", 0, 2, [("c", type_)])
    assert found.to_pylist() == expected or text_column(type_, found).to_pylist() == expected


def test_values_that_do_not_fit(tmp_path: Path) -> None:
    put_parquet(tmp_path / "f", pa.table({"c": ["1", "x"], "d": pa.array([1, 2], pa.duration("s"))}))
    reader = reader_of(tmp_path)
    with pytest.raises(SourceUnavailable, match='source file "f": column "c": invalid input syntax for type integer'):
        reader.read("f", 0, 2, [("c", INTEGER)])
    with pytest.raises(SourceUnavailable, match='column "d" of source file "f" is no numeric'):
        reader.read("f", 0, 2, [("d", NUMERIC)])
    files = file_connector_of(options(tmp_path))
    assert files is not None
    with pytest.raises(FeatureNotSupported, match='column "d" has the type duration'):
        files.columns()


def test_damaged_files(tmp_path: Path) -> None:
    whole = put_parquet(tmp_path / "a", pa.table({"c": range(10_000)}))
    connector = connector_of(options(tmp_path), PARQUET)
    put(tmp_path / "b", b"no parquet")
    assert list(connector.splits().ends()) == ["a"]
    reader = connector.row_reader()
    content = whole.read_bytes()
    put(whole, content[:4] + bytes(len(content) - 1_000) + content[-996:])
    with pytest.raises(SourceUnavailable, match='could not read source file "a"'):
        reader.read("a", 0, 10_000, [("c", BIGINT)])
    whole.unlink()
    with pytest.raises(SourceUnavailable, match='could not read source file "a"'):
        reader.read("a", 0, 10_000, [("c", BIGINT)])


def test_there_are_no_options(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterValue, match='unknown option "delimiter" of ENCODE PARQUET'):
        connector_of(options(tmp_path), MessageFormat("plain", "parquet", (("delimiter", ","),)))
