"""FORMAT UPSERT and DEBEZIUM: applied to a dictionary in order, what is decoded gives what the messages say."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.connectors.formats.choice import decoder_of
from risingpy.connectors.formats.decoder import Decoded, MessageFormat
from risingpy.types import (
    BIGINT,
    BYTEA,
    DATE,
    INTEGER,
    INTERVAL,
    JSONB,
    NUMERIC,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
)
from risingpy.types.forms import text_column

Message = tuple[bytes | None, bytes | None]
Columns = Sequence[tuple[str, SqlType]]
Row = tuple[Any, ...]

COLUMNS: Columns = (("id", INTEGER), ("name", VARCHAR), ("n", BIGINT))


def decode(
    row_format: str,
    messages: Sequence[Message],
    columns: Columns = COLUMNS,
    key: Sequence[str] = ("id",),
    **options: str,
) -> Decoded:
    keys, payloads = zip(*messages, strict=True) if messages else ((), ())
    table = pa.table({"key": pa.array(keys, pa.binary()), "payload": pa.array(payloads, pa.binary())})
    return decoder_of(MessageFormat(row_format, "json", tuple(options.items())), columns, key).decode(table)


def changes(decoded: Decoded) -> list[tuple[int, int, Row]]:
    """Op, message, row."""
    rows = zip(*(column.to_pylist() for column in decoded.columns), strict=True)
    return list(zip(decoded.ops.to_pylist(), decoded.messages.to_pylist(), rows, strict=True))


def applied(decoded: Decoded) -> dict[int, Row]:
    """The table after all changes; its key is the first column."""
    table: dict[int, Row] = {}
    for op, _, row in changes(decoded):
        if op > 0:
            table[row[0]] = row
        else:
            table.pop(row[0], None)
    return table


def reasons(decoded: Decoded) -> dict[int, str]:
    return {bad.index: bad.reason for bad in decoded.bad}


def encoded(value: object) -> bytes:
    return json.dumps(value).encode()


WORDS = st.text("abé \"\\'", max_size=4) | st.none()
KEYS = st.integers(0, 5)
EVENTS = st.lists(st.tuples(KEYS, st.booleans(), WORDS, st.integers(-(2**63), 2**63 - 1) | st.none()), max_size=30)


@given(EVENTS, st.data())
def test_upserts_give_what_a_dictionary_has(events: list[tuple[int, bool, str | None, int | None]], data: Any) -> None:
    table: dict[int, Row] = {}
    messages: list[Message] = []
    for key, is_row, name, n in events:
        shapes = [
            encoded({"id": key}),
            encoded(key),
            encoded(str(key)),
            encoded({"schema": {}, "payload": {"id": key}}),
        ]
        row = {"id": key, "name": name, "n": n}
        if data.draw(st.booleans()):
            del row["id"]
        deletion = data.draw(st.sampled_from([None, b""]))
        messages.append((data.draw(st.sampled_from(shapes)), encoded(row) if is_row else deletion))
        if is_row:
            table[key] = (key, name, n)
        else:
            table.pop(key, None)
    decoded = decode("upsert", messages)
    assert decoded.bad == ()
    assert decoded.messages.to_pylist() == list(range(len(events)))
    assert applied(decoded) == table


def test_a_key_of_two_columns_is_an_object() -> None:
    columns = (("a", INTEGER), ("v", VARCHAR), ("b", VARCHAR))
    messages: list[Message] = [
        (b'{"a": 1, "b": "x"}', b'{"v": "one"}'),
        (b'{"b": "x", "a": 1}', None),
        (b"7", b'{"a": 2, "b": "y", "v": "two"}'),
        (b"7", None),
        (b'{"a": 3}', None),
    ]
    decoded = decode("upsert", messages, columns, ["a", "b"])
    assert changes(decoded) == [(1, 0, (1, "one", "x")), (-1, 1, (1, None, "x")), (1, 2, (2, "two", "y"))]
    assert reasons(decoded) == {
        3: 'column "a" of the primary key is NULL',
        4: 'column "b" of the primary key is NULL',
    }


def test_the_key_itself_is_the_primary_key() -> None:
    """INCLUDE KEY AS k, PRIMARY KEY (k): the source fills in k."""
    decoded = decode("upsert", [(b"\xff", b'{"n": 1}'), (b"\xff", b""), (None, b'{"n": 2}')], key=["k"])
    assert changes(decoded) == [(1, 0, (None, None, 1)), (-1, 1, (None, None, None))]
    assert reasons(decoded) == {2: "the message has no key"}


@pytest.mark.parametrize(
    ("type_", "key", "value"),
    [
        (VARCHAR, b"plain text", "plain text"),
        (VARCHAR, b'"in quotes"', "in quotes"),
        (VARCHAR, b"12", "12"),
        (BIGINT, b"12", 12),
        (BIGINT, b'"12"', 12),
        (BYTEA, b'{"id": \xff', b'{"id": \xff'),
        (DATE, b"2026-01-02", "2026-01-02"),
    ],
)
def test_plain_keys(type_: SqlType, key: bytes, value: object) -> None:
    decoded = decode("upsert", [(key, None)], [("id", type_)])
    assert decoded.bad == ()
    (found,) = decoded.columns[0].to_pylist()
    assert found == value or str(found) == value


def test_bad_keys_and_bad_rows() -> None:
    messages: list[Message] = [
        (b"x", b'{"name": "a"}'),
        (b"\xff", None),
        (b'{"id": 1}', b"{"),
        (b'{"id": 2}', b"[]"),
        (None, None),
        (b'{"id": 3}', b'{"n": 1}'),
    ]
    decoded = decode("upsert", messages)
    assert reasons(decoded) == {
        0: 'column "id": invalid input syntax for type integer: "x"',
        1: "invalid byte sequence for encoding UTF8: byte 0",
        2: "invalid JSON",
        3: "the message is a JSON array, not an object",
        4: 'column "id" of the primary key is NULL',
    }
    assert changes(decoded) == [(1, 5, (3, None, 1))]


OPS = st.sampled_from(["insert", "update", "move", "delete"])


@given(st.lists(st.tuples(OPS, KEYS, KEYS, WORDS), max_size=30), st.booleans(), st.booleans())
def test_debezium_gives_what_a_dictionary_has(
    events: list[tuple[str, int, int, str | None]], in_envelope: bool, key_only: bool
) -> None:
    table: dict[int, Row] = {}
    messages: list[Message] = []

    def send(op: str, before: Row | None, after: Row | None) -> None:
        if before is not None and key_only:
            before = (before[0], None, None)
        names = [name for name, _ in COLUMNS]
        body: dict[str, Any] = {
            "before": None if before is None else dict(zip(names, before, strict=True)),
            "after": None if after is None else dict(zip(names, after, strict=True)),
            "op": op,
            "source": {"op": "no", "after": 5},
        }
        key = (after or before or (0,))[0]
        messages.append((encoded({"id": key}), encoded({"schema": {"x": 1}, "payload": body} if in_envelope else body)))

    for event, key, other, name in events:
        former, row = table.get(key), (key, name, len(messages))
        if event == "insert" or (event == "update" and former is not None):
            send("c" if former is None else "u", former, row)
            table[key] = row
        elif event == "move" and former is not None and other not in table:
            row = (other, name, 7)
            send("u", former, row)
            del table[key]
            table[other] = row
        elif event == "delete" and former is not None:
            send("d", former, None)
            messages.append((encoded({"id": key}), None))
            del table[key]
    decoded = decode("debezium", messages)
    assert decoded.bad == ()
    assert applied(decoded) == table


def test_a_move_deletes_the_former_key_first() -> None:
    payload = b'{"op": "u", "before": {"id": 1, "name": "a"}, "after": {"id": 2, "name": "a", "n": 3}}'
    decoded = decode("debezium", [(None, payload), (None, b'{"op": "r", "after": {"id": 3}}')])
    assert changes(decoded) == [(-1, 0, (1, None, None)), (1, 0, (2, "a", 3)), (1, 1, (3, None, None))]


def test_a_deletion_without_before_has_the_key_of_the_message() -> None:
    messages: list[Message] = [
        (b'{"schema": null, "payload": {"id": 4}}', b'{"op": "d", "before": null}'),
        (None, b'{"op": "d"}'),
        (b'{"id": 4}', b'{"schema": null, "payload": null}'),
    ]
    decoded = decode("debezium", messages)
    assert changes(decoded) == [(-1, 0, (4, None, None))]
    assert reasons(decoded) == {1: 'column "id" of the primary key is NULL'}
    assert reasons(decode("debezium", messages, ignore_key="true")).keys() == {0, 1}


def test_bad_envelopes() -> None:
    payloads = [
        b'{"op": "t"}',
        b'{"op": "x"}',
        b'{"after": {"id": 1}}',
        b'{"op": "c", "after": null}',
        b'{"op": "c", "after": {"id": "x"}}',
        b'{"op": "c", "after": 7}',
        b'{"op": "c", "after": {"id": null}}',
        b'{"op": "c"',
        b"8",
        b'{"op": "c", "after": {"id": 9}}',
    ]
    decoded = decode("debezium", [(None, payload) for payload in payloads])
    assert reasons(decoded) == {
        0: "the table was truncated upstream, which is not supported",
        1: 'op "x" is not supported',
        2: "the message has no op",
        3: '"after" is missing, with op c',
        4: 'column "id": invalid input syntax for type integer: "x"',
        5: "the message is a JSON ubigint, not an object",
        6: 'column "id" of the primary key is NULL',
        7: "invalid JSON",
        8: "the message is a JSON ubigint, not an object",
    }
    assert changes(decoded) == [(1, 9, (9, None, None))]


@pytest.mark.parametrize(
    ("type_", "text", "shown", "options"),
    [
        (DATE, "20454", "2026-01-01", {}),
        (DATE, "-1", "1969-12-31", {}),
        (TIME, "3723000001", "01:02:03.000001", {}),
        (TIME, "3723001", "01:02:03.001", {"time.handling.mode": "milli"}),
        (TIMESTAMP, "1767323045500", "2026-01-02 03:04:05.5", {}),
        (TIMESTAMP, "5", "1970-01-01 00:00:00.005", {"timestamp.handling.mode": "milli"}),
        (TIMESTAMPTZ, "5", "1970-01-01 00:00:00.000005+00", {"timestamptz.handling.mode": "micro"}),
        (
            TIMESTAMPTZ,
            '"2026-01-02T03:04:05Z"',
            "2026-01-02 03:04:05+00",
            {"timestamptz.handling.mode": "utc_string"},
        ),
        (BYTEA, '"AQ=="', "\\x01", {}),
        (JSONB, '"{\\"a\\": 1}"', '{"a": 1}', {}),
        (INTERVAL, "3600000000", "01:00:00", {}),
        (INTERVAL, '"P1Y2M"', "1 year 2 mons", {"interval.handling.mode": "string"}),
        (NUMERIC, '"//////////8="', "-1", {"bigint.unsigned.handling.mode": "precise"}),
        (NUMERIC, '"AP//////////"', "18446744073709551615", {"bigint.unsigned.handling.mode": "precise"}),
        (NUMERIC, "12.5", "12.5", {"bigint.unsigned.handling.mode": "precise"}),
    ],
)
def test_what_debezium_writes(type_: SqlType, text: str, shown: str, options: dict[str, str]) -> None:
    payload = f'{{"op": "c", "after": {{"id": 1, "c": {text}}}}}'.encode()
    decoded = decode("debezium", [(None, payload)], [("id", INTEGER), ("c", type_)], **options)
    assert decoded.bad == ()
    assert text_column(type_, decoded.columns[1])[0].as_py() == shown


@pytest.mark.parametrize(
    ("type_", "text", "options"),
    [
        (BYTEA, '"%"', {}),
        (TIME, "86400000000", {}),
        (TIMESTAMPTZ, "5", {"timestamptz.handling.mode": "utc_string"}),
        (TIMESTAMP, "9" * 18, {"timestamp.handling.mode": "milli"}),
        (INTERVAL, "abc", {}),
        (NUMERIC, '"%"', {"bigint.unsigned.handling.mode": "precise"}),
    ],
)
def test_what_a_mode_refuses(type_: SqlType, text: str, options: dict[str, str]) -> None:
    payload = f'{{"op": "c", "after": {{"id": 1, "c": {text}}}}}'.encode()
    good = b'{"op": "c", "after": {"id": 2, "c": null}}'
    decoded = decode("debezium", [(None, payload), (None, good)], [("id", INTEGER), ("c", type_)], **options)
    assert reasons(decoded).keys() == {0}
    assert decoded.messages.to_pylist() == [1]


@pytest.mark.parametrize("row_format", ["upsert", "debezium"])
def test_ten_thousand_mutated_messages(row_format: str) -> None:
    """Every good message keeps its row, and every bad one has a reason, or is a row by accident."""
    chance = random.Random(6)
    messages: list[Message] = []
    for k in range(20_000):
        row = {"id": k, "name": f"x{k}", "n": k * 7}
        payload = encoded({"op": "c", "before": None, "after": row} if row_format == "debezium" else row)
        messages.append((encoded({"id": k}), payload))
    mutated = set(chance.sample(range(len(messages)), 10_000))
    for k in mutated:
        parts = [bytes(part or b"") for part in messages[k]]
        hurt = chance.randrange(2)
        cut = chance.randrange(len(parts[hurt]))
        parts[hurt] = parts[hurt][:cut] + bytes([chance.randrange(256)]) + parts[hurt][cut + chance.randrange(3) :]
        messages[k] = (parts[0], parts[1])
    decoded = decode(row_format, messages)
    assert set(reasons(decoded)) <= mutated
    found = {message: (op, row) for op, message, row in changes(decoded)}
    assert all(found[k] == (1, (k, f"x{k}", k * 7)) for k in range(len(messages)) if k not in mutated)
    assert found.keys() | set(reasons(decoded)) == set(range(len(messages)))


def test_debezium_base64_is_read_as_python_reads_it() -> None:
    values = [random.Random(k).randbytes(k) for k in range(40)]
    payloads = [encoded({"op": "c", "after": {"id": 1, "b": base64.b64encode(value).decode()}}) for value in values]
    decoded = decode("debezium", [(None, payload) for payload in payloads], [("id", INTEGER), ("b", BYTEA)])
    assert decoded.columns[1].to_pylist() == values
