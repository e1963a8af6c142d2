"""Decoders: every good message becomes its row, every bad one is named, and neither changes its neighbours."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.connectors.formats.choice import decoder_of
from risingpy.connectors.formats.decoder import Decoded, MessageFormat
from risingpy.errors import SqlError
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    JSONB,
    NUMERIC,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    array_of,
    map_of,
    struct_of,
)

Columns = Sequence[tuple[str, SqlType]]


def decode(encoding: str, columns: Columns, payloads: Sequence[bytes | None], **options: str) -> Decoded:
    messages = pa.table({"payload": pa.array(payloads, pa.binary())})
    return decoder_of(MessageFormat("plain", encoding, tuple(options.items())), columns, ()).decode(messages)


def rows_of(decoded: Decoded) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in decoded.columns), strict=True))


def reasons(decoded: Decoded) -> dict[int, str]:
    return {bad.index: bad.reason for bad in decoded.bad}


SCALARS = st.fixed_dictionaries(
    {},
    optional={
        "i": st.integers(-(2**31), 2**31 - 1) | st.none(),
        "l": st.integers(-(2**63), 2**63 - 1) | st.none(),
        "d": st.floats(allow_nan=False, allow_infinity=False) | st.none(),
        "b": st.booleans() | st.none(),
        "s": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")) | st.none(),
        "a": st.lists(st.integers(-100, 100) | st.none()) | st.none(),
        "o": st.fixed_dictionaries({}, optional={"x": st.integers(0, 9), "y": st.text("abc")}) | st.none(),
        "unknown": st.integers() | st.text("xyz"),
    },
)
NAMED: Columns = (
    *(("i", INTEGER), ("l", BIGINT), ("d", DOUBLE), ("b", BOOLEAN), ("s", VARCHAR)),
    *(("a", array_of(INTEGER)), ("o", struct_of(["x", "y"], [BIGINT, VARCHAR]))),
)


def expected(message: dict[str, Any]) -> tuple[Any, ...]:
    found = [message.get(name) for name, _ in NAMED[:-1]]
    nested = message.get("o")
    return (*found, None if nested is None else {"x": nested.get("x"), "y": nested.get("y")})


@given(st.lists(SCALARS, max_size=20))
def test_objects_are_read_as_python_reads_them(messages: list[dict[str, Any]]) -> None:
    decoded = decode("json", NAMED, [json.dumps(message).encode() for message in messages])
    assert decoded.bad == ()
    assert decoded.messages.to_pylist() == list(range(len(messages)))
    assert rows_of(decoded) == [expected(message) for message in messages]


@given(st.lists(SCALARS, min_size=1, max_size=20), st.data())
def test_a_changed_byte_hurts_its_own_message_only(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    payloads: list[bytes | None] = [json.dumps(message, ensure_ascii=False).encode() for message in messages]
    hurt = data.draw(st.integers(0, len(payloads) - 1))
    broken = bytearray(payloads[hurt] or b"")
    broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    payloads[hurt] = bytes(broken)
    decoded = decode("json", NAMED, payloads)
    assert set(reasons(decoded)) <= {hurt}
    kept = dict(zip(decoded.messages.to_pylist(), rows_of(decoded), strict=True))
    assert {k: v for k, v in kept.items() if k != hurt} == {
        k: expected(message) for k, message in enumerate(messages) if k != hurt
    }


@pytest.mark.parametrize("length", range(4))
def test_a_bad_message_whose_text_an_error_cuts_within_a_character(length: int) -> None:
    """DuckDB quotes the message's beginning, and such an error's text is no UTF-8."""
    decoded = decode("json", NAMED, [("\0" + "x" * length + "\U00010000" * 200).encode(), b'{"i": 1}'])
    assert set(reasons(decoded)) == {0}
    assert len(rows_of(decoded)) == 1


def test_ten_thousand_mutated_messages() -> None:
    """One chunk of good and bad ones: it is decoded, every good one is right, and every bad one has a reason."""
    chance = random.Random(5)
    good = [{"i": k, "s": f"x{k}", "d": k / 2} for k in range(20_000)]
    payloads = [json.dumps(message).encode() for message in good]
    mutated = set(chance.sample(range(len(good)), 10_000))
    for k in mutated:
        cut = chance.randrange(len(payloads[k]))
        payloads[k] = payloads[k][:cut] + bytes([chance.randrange(256)]) + payloads[k][cut + chance.randrange(3) :]
    decoded = decode("json", NAMED, payloads)
    assert set(reasons(decoded)) <= mutated
    rows = dict(zip(decoded.messages.to_pylist(), rows_of(decoded), strict=True))
    assert rows.keys() | set(reasons(decoded)) == set(range(len(good)))
    assert all(rows[k] == expected(message) for k, message in enumerate(good) if k not in mutated)


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (INTEGER, '"12"', 12),
        (INTEGER, "3.0", 3),
        (BOOLEAN, "1", True),
        (BOOLEAN, '"false"', False),
        (VARCHAR, "12", "12"),
        (VARCHAR, '{"a": 1}', '{"a":1}'),
        (NUMERIC, '"1.50"', "1.50"),
        (TIMESTAMP, '"2026-01-02T03:04:05.5"', "2026-01-02 03:04:05.500000"),
        (TIMESTAMP, "1767323045", "2026-01-02 03:04:05"),
        (TIMESTAMPTZ, "1767323045500", "2026-01-02 03:04:05.500000+00:00"),
        (TIMESTAMPTZ, "1767323045500001", "2026-01-02 03:04:05.500001+00:00"),
        (TIMESTAMPTZ, '"2026-01-02T03:04:05+01:00"', "2026-01-02 02:04:05+00:00"),
        (DATE, '"2026-01-02"', "2026-01-02"),
        (BYTEA, '"\\\\x6162"', "b'ab'"),
        (JSONB, '{"b": [1, null]}', '{"b": [1, null]}'),
    ],
)
def test_what_a_column_accepts(type_: SqlType, text: str, value: object) -> None:
    decoded = decode("json", [("c", type_)], [f'{{"c": {text}}}'.encode()])
    assert decoded.bad == ()
    (found,) = decoded.columns[0].to_pylist()
    if type_ is NUMERIC:
        from risingpy.types.forms import text_column

        found = text_column(NUMERIC, decoded.columns[0])[0].as_py()
    assert found == value or str(found) == value


@pytest.mark.parametrize(
    ("type_", "text", "reason"),
    [
        (INTEGER, "1.5", 'column "c": invalid input syntax for type integer: "1.5"'),
        (INTEGER, "3000000000", 'column "c": value "3000000000" is out of range for type integer'),
        (BOOLEAN, "2", 'column "c": invalid input syntax for type boolean: "2"'),
        (array_of(INTEGER), '[1, "x"]', 'column "c": invalid input syntax for type integer: "x"'),
        (struct_of(["x"], [INTEGER]), '{"x": "y"}', 'column "c.x": invalid input syntax for type integer: "y"'),
    ],
)
def test_what_a_column_refuses(type_: SqlType, text: str, reason: str) -> None:
    good, bad = b'{"c": null}', f'{{"c": {text}}}'.encode()
    decoded = decode("json", [("c", type_)], [good, bad, good])
    assert reasons(decoded) == {1: reason}
    assert decoded.messages.to_pylist() == [0, 2]


MAPS = st.dictionaries(st.text('aé. "', max_size=3), st.integers(-9, 9) | st.none(), max_size=4) | st.none()


@given(st.lists(st.tuples(MAPS, st.lists(st.dictionaries(st.integers(0, 99), st.text("xy")), max_size=2)), max_size=8))
def test_objects_are_maps(rows: list[tuple[dict[str, int | None] | None, list[dict[int, str]]]]) -> None:
    columns = [("m", map_of(VARCHAR, BIGINT)), ("l", array_of(map_of(INTEGER, struct_of(["v"], [VARCHAR]))))]
    payloads = [
        json.dumps({"m": m, "l": [{k: {"v": v} for k, v in each.items()} for each in maps]}).encode()
        for m, maps in rows
    ]
    decoded = decode("json", columns, payloads)
    assert decoded.bad == ()
    assert [column.type for column in decoded.columns] == [type_.arrow for _, type_ in columns]
    assert rows_of(decoded) == [
        (None if m is None else list(m.items()), [[(k, {"v": v}) for k, v in each.items()] for each in maps])
        for m, maps in rows
    ]


def test_objects_that_are_no_maps() -> None:
    payloads = [
        b'{"m": {"1": 1, "1": 2}}',
        b'{"m": 7}',
        b'{"m": {"x": 1}}',
        b'{"m": {"1": "x"}}',
        b'{"m": {"1": 5}}',
    ]
    decoded = decode("json", [("m", map_of(INTEGER, INTEGER))], payloads)
    assert reasons(decoded) == {
        0: 'a map has the key "1" twice',
        1: 'column "m": a map is a JSON object',
        2: 'column "m": invalid input syntax for type integer: "x"',
        3: 'column "m": invalid input syntax for type integer: "x"',
    }
    assert rows_of(decoded) == [([(1, 5)],)]


def test_messages_that_are_no_objects() -> None:
    decoded = decode("json", [("c", INTEGER)], [b"", None, b"7", b"[]", b"\xff", b'{"c": 1}', b'{"c": 1} x'])
    assert reasons(decoded) == {
        0: "invalid JSON",
        1: "the message is empty",
        2: "the message is a JSON ubigint, not an object",
        3: "the message is a JSON array, not an object",
        4: "invalid byte sequence for encoding UTF8: byte 0",
        6: "invalid JSON",
    }
    assert rows_of(decoded) == [(1,)]


def test_names_are_compared_exactly_first() -> None:
    columns = [("id", INTEGER), ("ID", INTEGER)]
    decoded = decode("json", columns, [b'{"id": 1, "ID": 2}', b'{"Id": 3}', b'{"ID": 4}', b"{}"])
    assert rows_of(decoded) == [(1, 2), (3, 3), (4, 4), (None, None)]


@given(st.lists(st.tuples(st.integers(-99, 99), st.text("ab \",;'", max_size=5)), max_size=10))
def test_lines_are_read_as_python_reads_them(rows: list[tuple[int, str]]) -> None:
    payloads = []
    for row in rows:
        line = io.StringIO()
        csv.writer(line).writerow(row)
        payloads.append(line.getvalue().encode())
    decoded = decode("csv", [("i", INTEGER), ("s", VARCHAR)], payloads, without_header="true", delimiter=",")
    assert decoded.bad == ()
    assert rows_of(decoded) == rows


def test_lines_with_other_fields_are_bad() -> None:
    columns = [("i", INTEGER), ("s", VARCHAR)]
    decoded = decode("csv", columns, [b"1;a", b"2", b"3;b;c", b"x;d", b";e", None], delimiter=";")
    assert reasons(decoded) == {
        1: "1 fields instead of 2",
        2: "3 fields instead of 2",
        3: 'column "i": invalid input syntax for type integer: "x"',
        5: "the message is empty",
    }
    assert rows_of(decoded) == [(1, "a"), (None, "e")]


def test_bytes_are_kept() -> None:
    assert rows_of(decode("bytes", [("data", BYTEA)], [b"\xff\x00", b"", None])) == [(b"\xff\x00",), (b"",), (None,)]


@pytest.mark.parametrize(
    ("row_format", "encoding", "options", "message"),
    [
        ("plain", "json", (("x", "1"),), 'unknown option "x" of ENCODE JSON'),
        ("plain", "xml", (), "ENCODE XML is not supported"),
        ("upsert", "json", (), "FORMAT UPSERT needs a table with a primary key"),
        ("upsert", "csv", (), "FORMAT UPSERT ENCODE CSV is not supported"),
        ("canal", "json", (), "FORMAT CANAL is not supported"),
        ("plain", "json", (("time.handling.mode", "nano"),), 'invalid time.handling.mode "nano"'),
        ("plain", "bytes", (), "ENCODE BYTES needs one column of type bytea"),
        ("plain", "csv", (("delimiter", "||"),), 'the delimiter must be one character, not "||"'),
    ],
)
def test_what_is_refused(row_format: str, encoding: str, options: tuple[tuple[str, str], ...], message: str) -> None:
    with pytest.raises(SqlError) as error:
        decoder_of(MessageFormat(row_format, encoding, options), [("a", INTEGER)], ())
    assert str(error.value) == message


def test_a_float_keeps_its_value() -> None:
    numbers = [0.1, 1e300, -5e-324, 1 / 3]
    decoded = decode("json", [("d", DOUBLE)], [json.dumps({"d": number}).encode() for number in numbers])
    assert all(math.isclose(a, b, rel_tol=0) for (a,), b in zip(rows_of(decoded), numbers, strict=True))
