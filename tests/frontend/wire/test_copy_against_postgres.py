"""COPY's files, read and written, compared with PostgreSQL 15."""

from __future__ import annotations

import random

import psycopg
import pyarrow as pa
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.copy_options import make_copy_options
from risingpy.frontend.results import ResultField
from risingpy.frontend.wire.copy_decode import DelimitedDecoder
from risingpy.frontend.wire.copy_out import encode_copy, header_line
from risingpy.types import BYTEA, INTEGER, TIMESTAMP, VARCHAR

_FIELDS = (ResultField("a", INTEGER), ResultField("b", VARCHAR), ResultField("c d", TIMESTAMP), ResultField("e", BYTEA))
_OPTIONS: list[dict[str, str]] = [
    {},
    {"delimiter": "|", "null": "~"},
    {"format": "csv"},
    {"format": "csv", "header": "on", "delimiter": ";", "quote": "'"},
    {"format": "csv", "escape": "\\", "null": "NULL"},
    {"format": "csv", "escape": "\\", "quote": "$", "delimiter": "\t"},
]


def _sql(options: dict[str, str]) -> str:
    if not options:
        return ""
    bare, listed = ("format", "header"), ("force_null", "force_not_null")
    words = (
        f"{name} {value}" if name in bare else f"{name} {f'({value})' if name in listed else _literal(value)}"
        for name, value in options.items()
    )
    return "(" + ", ".join(words) + ")"


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _out(postgres: psycopg.Connection, sql: str) -> bytes:
    with postgres.cursor().copy(sql) as copy:
        return b"".join(bytes(piece) for piece in copy)


def _unframed(messages: bytes) -> bytes:
    data = b""
    while messages:
        length = int.from_bytes(messages[1:5], "big")
        data, messages = data + messages[5 : length + 1], messages[length + 1 :]
    return data


@pytest.mark.parametrize("options", _OPTIONS, ids=str)
def test_output_is_postgresqls(postgres: psycopg.Connection, options: dict[str, str]) -> None:
    chosen = random.Random(1)
    texts = [
        "",
        "x",
        "\\.",
        "\\N",
        "NULL",
        "-",
        "a,b;c|d\te",
        "\"q\" '$'",
        "\\",
        "l1\nl2\r\v\b\f",
        "é",
        None,
        " ",
        "''",
        "$$",
    ]
    texts += ["".join(chosen.choices("a\\\t\n\r\",'|;$N-", k=chosen.randint(0, 8))) for _ in range(300)]
    postgres.execute('drop table if exists cp; create table cp (a int, b varchar, "c d" timestamp, e bytea)')
    for number, text in enumerate(texts):
        postgres.execute(
            "insert into cp values (%s, %s, %s, %s)", (number, text, f"2024-01-02 03:04:05.{number:06d}", b"\0\xff")
        )
    postgres.execute("insert into cp values (null, null, null, null)")
    expected = _out(postgres, f"copy cp to stdout {_sql(options)}")
    made = make_copy_options(options)
    decoder = DelimitedDecoder("cp", _FIELDS, made, "UTC")
    batches = [*decoder.feed(expected), *decoder.finish()]
    table = pa.Table.from_batches(batches).combine_chunks()
    assert table.column(1).to_pylist() == [*texts, None]
    batch = table.to_batches()[0]
    head = header_line(_FIELDS, made) if made.header else b""
    assert head + _unframed(b"".join(encode_copy(batch, _FIELDS, made, "UTC"))) == expected
    alone = (ResultField("b", VARCHAR),)
    single = _unframed(b"".join(encode_copy(batch.select(["c1"]), alone, made, "UTC")))
    head = header_line(alone, made) if made.header else b""
    assert head + single == _out(postgres, f"copy cp (b) to stdout {_sql(options)}")


_INPUT = [
    b"1\tx\n2\n",
    b"1\tx\ty\n",
    b"z\tx\n",
    b"1\tx\n\n",
    b"1\ta\\\n",
    b"1\ta\\x4\\7\\18\n",
    b"1\ta\r\n2\tb\r\n",
    b"99999999999\tx\n",
    b"1\tx\n\\.\n2\ty\n",
    b"\\N\t\\N\n",
    b"1\t\\\\N\n",
    b"1\tx",
    b"1\t\\",
    b"1\t\xff\n",
    b"\tx\n",
    b"1\t" + b"y" * 150 + b"\tz\n",
    b"1\ta\\\tb\n",
    b'1,"x\n',
    b"1,x\n",
    b'1,"a""b"\n',
    b'1,a"b,c"d\n',
    b'1,"a"b\n',
    b"\n",
    b"1,\n",
    b'1,""\n',
    b'"1",x\n2\n',
    b'1,"a\nb"\nz,y\n',
    b'1,\n2,""\n"",""\n',
    b',""\n,x',
    b"a,b\n1,x\n",
    b"a\tb\n1\tx\n",
    b'"a","b"\r\n1,x\r\n',
    b"a,B\n1,x\n",
    b"a,b,c\n",
    b"a",
    b"a,\n1,2\n",
    b"\\N\tb\n",
    b"a\tb",
    b"",
    *(
        number + delimiter + b"0x\n007" + delimiter + b"x\n"
        for number in (b"0x1f", b"0X1F", b"-0x1f", b"+5", b" 5", b"5 ", b"- 5", b"-0", b"1_0", b"1e3", b'" 5"', b'"+5"')
        for delimiter in (b"\t", b",")
    ),
]


_INPUT_OPTIONS: list[dict[str, str]] = [
    {},
    {"header": "match"},
    {"format": "csv"},
    {"format": "csv", "escape": "\\"},
    {"format": "csv", "header": "match"},
    {"format": "csv", "force_null": "b"},
    {"format": "csv", "force_null": "a, b", "null": "x"},
    {"format": "csv", "force_not_null": "b"},
    {"format": "csv", "force_null": "b", "force_not_null": "a, b"},
]


@pytest.mark.parametrize("options", _INPUT_OPTIONS, ids=str)
@pytest.mark.parametrize("data", _INPUT, ids=repr)
def test_input_is_read_as_by_postgresql(postgres: psycopg.Connection, options: dict[str, str], data: bytes) -> None:
    postgres.execute("drop table if exists ci; create table ci (a int, b varchar)")
    theirs: object
    try:
        with postgres.cursor().copy(f"copy ci from stdin {_sql(options)}") as copy:
            copy.write(data)
        theirs = postgres.execute("select * from ci").fetchall()
    except psycopg.Error as error:
        theirs = (error.sqlstate, error.diag.message_primary, error.diag.context)
    ours: object
    try:
        decoder = DelimitedDecoder(
            "ci", (ResultField("a", INTEGER), ResultField("b", VARCHAR)), make_copy_options(options), "UTC"
        )
        batches = [*decoder.feed(data), *decoder.finish()]
        ours = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    except SqlError as error:
        ours = (error.sqlstate, error.message, error.where)
    assert ours == theirs
