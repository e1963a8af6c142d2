"""COPY data: the columnar path gives what the exact one gives, and PostgreSQL too, if it is installed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from risingpy.errors import SqlError
from risingpy.frontend.copy_options import make_copy_options
from risingpy.frontend.results import CopyOptions, ResultField
from risingpy.frontend.wire.copy_binary import HEADER, BinaryDecoder
from risingpy.frontend.wire.copy_decode import DelimitedDecoder
from risingpy.frontend.wire.copy_out import encode_copy
from risingpy.frontend.wire.copy_rows import decode_rows, split_rows
from risingpy.types import BIGINT, BOOLEAN, BYTEA, DOUBLE, INTEGER, TIMESTAMP, VARCHAR, SqlType, numeric
from tests.examples import examples

TEXT = make_copy_options({})
CSV = make_copy_options({"format": "csv"})
PAIR = (ResultField("a", INTEGER), ResultField("b", VARCHAR))


def fast(data: bytes, fields: Sequence[ResultField], options: CopyOptions, *, pieces: int = 1) -> list[dict[str, Any]]:
    decoder = DelimitedDecoder("t", fields, options, "UTC")
    step = max(1, -(-len(data) // pieces))
    batches = [b for at in range(0, len(data), step) for b in decoder.feed(data[at : at + step])]
    batches += decoder.finish()
    return [row for batch in batches for row in batch.to_pylist()]


def exact(data: bytes, fields: Sequence[ResultField], options: CopyOptions) -> list[dict[str, Any]]:
    return list(decode_rows(split_rows(data, options, 1), "t", fields, options, "UTC").to_pylist())


def rows(*values: tuple[object, ...]) -> list[dict[str, object]]:
    return [{f"c{index}": value for index, value in enumerate(row)} for row in values]


@pytest.mark.parametrize(
    ("data", "options", "expected"),
    [
        (b"1\tx\n\\N\t\\N\n3\t\n", TEXT, rows((1, "x"), (None, None), (3, ""))),
        (b"1\ta\\tb\\\\c\\nd\\x41\\101\\q\n", TEXT, rows((1, "a\tb\\c\ndAAq"))),
        (b"1\ta\\\nb\n2\ta\\\tb\n", TEXT, rows((1, "a\nb"), (2, "a\tb"))),
        (b"1\ta\\\\\n2\tb\n", TEXT, rows((1, "a\\"), (2, "b"))),
        (b"1\tx\r\n2\ty\r\n", TEXT, rows((1, "x"), (2, "y"))),
        (b"1\tx\n\\.\nrubbish\n", TEXT, rows((1, "x"))),
        (b"1\tx", TEXT, rows((1, "x"))),
        (b'1\t"x\n', TEXT, rows((1, '"x'))),
        (b" 1 \tx\n+2\ty\n", TEXT, rows((1, "x"), (2, "y"))),
        (b"1|x\n-|\n", make_copy_options({"delimiter": "|", "null": "-"}), rows((1, "x"), (None, ""))),
        (b"1\t\\N\n2\t\n", make_copy_options({"null": ""}), rows((1, "N"), (2, None))),
        (b'1,x\n,\n3,""\n4,"a,""b""\nc"\n', CSV, rows((1, "x"), (None, None), (3, ""), (4, 'a,"b"\nc'))),
        (b'1,a"b,c"d\n"2",y\n', CSV, rows((1, "ab,cd"), (2, "y"))),
        (b'1,"x"y\n2,z\n', CSV, rows((1, "xy"), (2, "z"))),
        (b"1,\\N\n2,a\\tb\n", CSV, rows((1, "\\N"), (2, "a\\tb"))),
        (b"a,b\n1,x\n", make_copy_options({"format": "csv", "header": True}), rows((1, "x"))),
        (b"'1';'x''y'\n", make_copy_options({"format": "csv", "delimiter": ";", "quote": "'"}), rows((1, "x'y"))),
        (
            b'1,"x\\"y\\\\"\n2,a\\b\n',
            make_copy_options({"format": "csv", "escape": "\\"}),
            rows((1, 'x"y\\'), (2, "a\\b")),
        ),
        (b"1,NULL\n2,\n", make_copy_options({"format": "csv", "null": "NULL"}), rows((1, None), (2, ""))),
        (b"", CSV, []),
    ],
)
@pytest.mark.parametrize("pieces", [1, 7, 1000])
def test_values(data: bytes, options: CopyOptions, expected: list[dict[str, object]], pieces: int) -> None:
    assert fast(data, PAIR, options, pieces=pieces) == expected
    if b"\\." not in data and not options.header:
        assert exact(data, PAIR, options) == expected


def test_one_column_has_empty_lines() -> None:
    one = (ResultField("a", VARCHAR),)
    assert fast(b"x\n\ny\n", one, TEXT) == rows(("x",), ("",), ("y",))
    assert fast(b"x\n\ny\n", one, CSV) == rows(("x",), (None,), ("y",))


@pytest.mark.parametrize(
    ("data", "options", "state", "message", "where"),
    [
        (b"1\tx\n2\n", TEXT, "22P04", 'missing data for column "b"', 'COPY t, line 2: "2"'),
        (b"1\tx\tz\n", TEXT, "22P04", "extra data after last expected column", 'COPY t, line 1: "1\tx\tz"'),
        (b"1\tx\nq\tx\n", TEXT, "22P02", 'invalid input syntax for type integer: "q"', 'COPY t, line 2, column a: "q"'),
        (b"99999999999\tx\n", TEXT, "22003", 'value "99999999999" is out of range for type integer', None),
        (b"1\t\xff\n", TEXT, "22021", 'invalid byte sequence for encoding "UTF8": 0xff', None),
        (b"1\ta\0b\n", TEXT, "22021", 'invalid byte sequence for encoding "UTF8": 0x00', None),
        (b'1,"x\n', CSV, "22P04", "unterminated CSV quoted field", 'COPY t, line 1: "1,"x\n"'),
        (
            b'0,\n1,"x\ny"\nq,z\n',
            CSV,
            "22P02",
            'invalid input syntax for type integer: "q"',
            'COPY t, line 4, column a: "q"',
        ),
        (
            b"a,b\nx,y\n",
            make_copy_options({"format": "csv", "header": "on"}),
            "22P02",
            None,
            'COPY t, line 2, column a: "x"',
        ),
        (b"1\tx\n2\ty\rz\n", TEXT, "22P04", "literal carriage return found in data", None),
    ],
)
def test_errors(data: bytes, options: CopyOptions, state: str, message: str | None, where: str | None) -> None:
    with pytest.raises(SqlError) as caught:
        fast(data, PAIR, options)
    assert caught.value.sqlstate == state
    assert message is None or caught.value.message == message
    assert where is None or caught.value.where == where
    assert caught.value.where is not None


def test_line_numbers_go_on_over_blocks() -> None:
    data = b"".join(b"%d\t%s\n" % (number, b"x" * 100) for number in range(40_000)) + b"bad\tx\n"
    with pytest.raises(SqlError) as caught:
        fast(data, PAIR, TEXT, pieces=50)
    assert caught.value.where == 'COPY t, line 40001, column a: "bad"'


_ALPHABET = st.text(st.sampled_from('a1 \\\t\n\r",N|.x\b\f\vé{}'), max_size=6)
_MADE = [
    TEXT,
    CSV,
    make_copy_options({"format": "csv", "escape": "\\"}),
    make_copy_options({"delimiter": "|"}),
    make_copy_options({"format": "csv", "quote": "|", "null": "N"}),
]


@examples(150)
@given(st.lists(st.tuples(st.none() | _ALPHABET, st.none() | _ALPHABET), max_size=5), st.sampled_from(_MADE))
def test_what_goes_out_comes_back(values: list[tuple[str | None, str | None]], options: CopyOptions) -> None:
    fields = (ResultField("a", VARCHAR), ResultField("b", VARCHAR))
    arrays = [pa.array([row[index] for row in values], pa.string()) for index in range(2)]
    batch = pa.RecordBatch.from_arrays(arrays, names=["c0", "c1"])
    messages = b"".join(encode_copy(batch, fields, options, "UTC"))
    data = b""
    while messages:
        length = int.from_bytes(messages[1:5], "big")
        data, messages = data + messages[5 : length + 1], messages[length + 1 :]
    assert fast(data, fields, options, pieces=3) == rows(*values)
    assert exact(data, fields, options) == rows(*values)


@examples(300)
@given(st.text(st.sampled_from('a1\\\t\n",'), max_size=30).map(str.encode), st.sampled_from(_MADE))
@example(b'"",', CSV)
def test_both_paths_agree_on_anything(data: bytes, options: CopyOptions) -> None:
    fields = (ResultField("a", VARCHAR), ResultField("b", VARCHAR))
    try:
        expected: object = exact(data, fields, options)
    except SqlError as error:
        expected = (error.sqlstate, error.message, error.where)
    try:
        got: object = fast(data, fields, options)
    except SqlError as error:
        got = (error.sqlstate, error.message, error.where)
    assert got == expected


def test_every_type_in_bulk() -> None:
    chosen = random.Random(5)
    types: list[SqlType] = [BIGINT, DOUBLE, BOOLEAN, VARCHAR, numeric(12, 3, declared=True), TIMESTAMP, BYTEA]
    fields = tuple(ResultField(f"f{index}", type_) for index, type_ in enumerate(types))
    lines = []
    for number in range(3000):
        line = [
            str(number * 7919 - 5000),
            repr(chosen.uniform(-9, 9)),
            chosen.choice("tf"),
            f"row\\\\{number}",
            f"{number}.{number % 1000:03d}",
            f"2024-01-{number % 28 + 1:02d} 03:04:05.{number:06d}",
            f"\\\\x{number:08x}",
        ]
        lines.append("\t".join("\\N" if chosen.random() < 0.05 else value for value in line))
    data = ("\n".join(lines) + "\n").encode()
    assert fast(data, fields, TEXT, pieces=4) == exact(data, fields, TEXT)


@pytest.mark.parametrize("pieces", [1, 50])
@pytest.mark.parametrize("ended", [b"", b"\n"])
def test_a_row_that_memory_does_not_hold_is_refused_early(
    monkeypatch: pytest.MonkeyPatch, pieces: int, ended: bytes
) -> None:
    monkeypatch.setenv("RISINGPY_MEMORY", "256MB")  # a row may have 4 MB
    long = b"1\t" + b"x" * (5 << 20) + ended
    with pytest.raises(SqlError, match="a row of COPY data is too long") as raised:
        fast(b"2\ty\n" + long, PAIR, TEXT, pieces=pieces)
    assert (raised.value.sqlstate, "4MB" in str(raised.value.hint)) == ("54000", True)
    assert len(fast(b"1\tx\n" * (2 << 20), PAIR, TEXT, pieces=2)) == 2 << 20  # many rows are not one
    binary = BinaryDecoder("t", PAIR)
    with pytest.raises(SqlError, match="a row of COPY data is too long"):
        list(binary.feed(HEADER + b"\0\2" + b"\0\0\0\4\0\0\0\1" + (6 << 20).to_bytes(4, "big") + b"x" * (5 << 20)))
