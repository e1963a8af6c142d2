"""FORMAT … ENCODE …: which messages an epoch's changes become."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets.encoders.changes import pair_updates
from risingpy.connectors.targets.encoders.choice import encoder_of
from risingpy.connectors.targets.engine_options import engine_options
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError, UndefinedColumn
from risingpy.types import BYTEA, DATE, INTEGER, TIMESTAMPTZ, VARCHAR, array_of
from tests.connectors.targets.changes import Row, changes_of

COLUMNS = (("id", INTEGER), ("name", VARCHAR), ("day", DATE))
CHANGES: list[tuple[int, Row]] = [
    (-1, ["1", "old", None]),
    (-1, ["2", "gone", None]),
    (1, ["3", "new", "1970-01-01"]),
    (1, ["1", "now", None]),
]


def schema_of(type_: SinkType, key: tuple[int, ...] = (0,)) -> SinkSchema:
    return SinkSchema("s", COLUMNS, key, type_)


def messages_of(schema: SinkSchema, rows: list[tuple[int, Row]], format_: MessageFormat | None = None) -> list[Any]:
    messages = encoder_of(format_, schema).encode(changes_of(schema, rows))
    assert messages.keys.type == messages.values.type == pa.binary()
    return list(zip(messages.keys.to_pylist(), messages.values.to_pylist(), strict=True))


def test_plain_sends_inserts() -> None:
    assert messages_of(schema_of(SinkType.APPEND_ONLY, ()), CHANGES) == [
        (None, b'{"id":3,"name":"new","day":719163}'),
        (None, b'{"id":1,"name":"now","day":null}'),
    ]
    keyed = messages_of(schema_of(SinkType.APPEND_ONLY), CHANGES)
    assert [key for key, _ in keyed] == [b'{"id":3}', b'{"id":1}']


def test_upsert_sends_the_new_row_or_a_tombstone() -> None:
    assert messages_of(schema_of(SinkType.UPSERT), CHANGES) == [
        (b'{"id":2}', None),
        (b'{"id":3}', b'{"id":3,"name":"new","day":719163}'),
        (b'{"id":1}', b'{"id":1,"name":"now","day":null}'),
    ]


def test_debezium_has_the_row_before_and_after() -> None:
    messages = messages_of(schema_of(SinkType.DEBEZIUM), CHANGES)
    keys = [json.loads(key)["payload"]["id"] for key, _ in messages]
    assert keys == [2, 2, 3, 1]
    assert messages[1][1] is None
    payloads = [json.loads(value)["payload"] for _, value in messages if value is not None]
    assert [(p["op"], p["before"], p["after"]) for p in payloads] == [
        ("d", {"id": 2, "name": "gone", "day": None}, None),
        ("c", None, {"id": 3, "name": "new", "day": 0}),
        ("u", {"id": 1, "name": "old", "day": None}, {"id": 1, "name": "now", "day": None}),
    ]
    schema = json.loads(messages[0][1])["schema"]
    assert [field["field"] for field in schema["fields"]] == ["before", "after", "op", "ts_ms", "source"]
    assert [field["type"] for field in schema["fields"][0]["fields"]] == ["int32", "string", "int32"]


def test_no_changes_are_no_messages() -> None:
    for type_ in (SinkType.APPEND_ONLY, SinkType.UPSERT, SinkType.DEBEZIUM):
        assert messages_of(schema_of(type_), []) == []


@given(st.lists(st.tuples(st.text(max_size=5) | st.none(), st.text('a",\n\r;é', max_size=5) | st.none()), max_size=5))
def test_csv_reads_back(rows: list[tuple[str | None, str | None]]) -> None:
    schema = SinkSchema("s", (("a", VARCHAR), ("b", VARCHAR)), (), SinkType.APPEND_ONLY)
    rows = [tuple(None if text is None else text.replace("\0", "") for text in row) for row in rows]  # type: ignore[misc]
    lines = messages_of(schema, [(1, row) for row in rows], MessageFormat("plain", "csv", (("delimiter", ";"),)))
    texts = [line.decode() for _, line in lines]
    read = list(csv.reader(io.StringIO("\r\n".join(texts), newline=""), delimiter=";"))
    assert read == [[text or "" for text in row] for row in rows]


def test_csv_tells_null_from_an_empty_text() -> None:
    assert messages_of(schema_of(SinkType.APPEND_ONLY, ()), [(1, ["1", "", None])], MessageFormat("plain", "csv")) == [
        (None, b'1,"",')
    ]


def test_templates() -> None:
    options = {"key_format": "user:{id}", "value_format": "{ name }/{day}!"}
    format_ = MessageFormat("upsert", "template", tuple(options.items()))
    assert messages_of(schema_of(SinkType.UPSERT), CHANGES, format_) == [
        (b"user:2", None),
        (b"user:3", b"new/1970-01-01!"),
        (b"user:1", b"now/NULL!"),
    ]
    with pytest.raises(UndefinedColumn, match="name"):
        encoder_of(
            MessageFormat("upsert", "template", tuple({**options, "key_format": "{name}"}.items())),
            schema_of(SinkType.UPSERT),
        )


def test_bytes_are_one_column() -> None:
    schema = SinkSchema("s", (("data", BYTEA),), (), SinkType.APPEND_ONLY)
    assert messages_of(schema, [(1, ["\\x00ff"]), (1, [None])], MessageFormat("plain", "bytes")) == [
        (None, b"\x00\xff"),
        (None, None),
    ]
    with pytest.raises(InvalidParameterValue, match="exactly one column"):
        encoder_of(MessageFormat("plain", "bytes"), schema_of(SinkType.APPEND_ONLY))


@pytest.mark.parametrize(
    ("format_", "type_", "error", "text"),
    [
        (MessageFormat("plain", "json", (("colour", "red"),)), SinkType.APPEND_ONLY, InvalidParameterValue, '"colour"'),
        (MessageFormat("plain", "json"), SinkType.UPSERT, InvalidParameterValue, "append-only"),
        (MessageFormat("maxwell", "json"), SinkType.UPSERT, FeatureNotSupported, "FORMAT MAXWELL"),
        (MessageFormat("debezium", "avro"), SinkType.DEBEZIUM, FeatureNotSupported, "FORMAT DEBEZIUM ENCODE AVRO"),
        (
            MessageFormat("plain", "csv", (("delimiter", "::"),)),
            SinkType.APPEND_ONLY,
            InvalidParameterValue,
            "delimiter",
        ),
        (
            MessageFormat("plain", "json", (("jsonb.handling.mode", "x"),)),
            SinkType.APPEND_ONLY,
            InvalidParameterValue,
            "x",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    format_: MessageFormat, type_: SinkType, error: type[SqlError], text: str
) -> None:
    with pytest.raises(error, match=text):
        encoder_of(format_, schema_of(type_))


def test_an_upsert_needs_a_key() -> None:
    with pytest.raises(InvalidParameterValue, match="primary key not defined"):
        encoder_of(None, schema_of(SinkType.UPSERT, ()))


@given(st.dictionaries(st.integers(0, 50), st.sampled_from(["insert", "delete", "update"]), max_size=20), st.randoms())
def test_updates_are_paired_by_key(kinds: dict[int, str], random: Any) -> None:
    deletes = [(-1, key) for key, kind in kinds.items() if kind != "insert"]
    inserts = [(1, key) for key, kind in kinds.items() if kind != "delete"]
    random.shuffle(deletes)
    random.shuffle(inserts)
    rows = deletes + inserts
    keys = [key for _, key in rows]
    updates = pair_updates(np.array([op for op, _ in rows], np.int8), pa.array(keys, pa.int64()))
    seen = {}
    for after, before in zip(updates.after.tolist(), updates.before.tolist(), strict=True):
        key = keys[after if after >= 0 else before]
        assert after < 0 or rows[after] == (1, key)
        assert before < 0 or rows[before] == (-1, key)
        seen[key] = "delete" if after < 0 else "insert" if before < 0 else "update"
    assert seen == kinds


def test_rows_beside_their_schema() -> None:
    format_ = MessageFormat("upsert", "json", (("schemas.enable", "true"), ("timestamptz.handling.mode", "milli")))
    columns = (("id", INTEGER), ("at", TIMESTAMPTZ), ("days", array_of(DATE)))
    schema = SinkSchema("s", columns, (0,), SinkType.UPSERT)
    [(key, value)] = messages_of(schema, [(1, ["1", "1970-01-01 00:00:01+00", "{1970-01-01}"])], format_)
    field = {"type": "int32", "optional": True, "field": "id"}
    name = "RisingPy.dev.s"
    assert json.loads(key) == {
        "schema": {"type": "struct", "fields": [field], "optional": False, "name": f"{name}.Key"},
        "payload": {"id": 1},
    }
    days = {"type": "array", "items": {"type": "int32"}, "optional": True, "field": "days"}
    fields = [field, {"type": "int64", "optional": True, "field": "at"}, days]
    assert json.loads(value) == {
        "schema": {"type": "struct", "fields": fields, "optional": False, "name": f"{name}.Value"},
        "payload": {"id": 1, "at": 1000, "days": [719163]},
    }
    [(_, gone)] = messages_of(schema, [(-1, ["1", None, None])], format_)
    assert gone is None


@pytest.mark.parametrize(
    ("format_", "error"),
    [
        (MessageFormat("debezium", "json", (("schemas.enable", "false"),)), FeatureNotSupported),
        (
            MessageFormat("upsert", "json", (("schemas.enable", "true"), ("jsonb.handling.mode", "dynamic"))),
            InvalidParameterValue,
        ),
    ],
)
def test_schemas_that_there_are_not(format_: MessageFormat, error: type[SqlError]) -> None:
    type_ = SinkType.DEBEZIUM if format_.row_format == "debezium" else SinkType.UPSERT
    with pytest.raises(error, match="schema"):
        encoder_of(format_, schema_of(type_))


def test_force_append_only_may_stand_in_the_format() -> None:
    format_ = MessageFormat("plain", "json", (("force_append_only", "true"),))
    assert engine_options({"connector": "blackhole"}, format_).force_append_only
    assert [value for _, value in messages_of(schema_of(SinkType.APPEND_ONLY), CHANGES, format_)] == [
        b'{"id":3,"name":"new","day":719163}',
        b'{"id":1,"name":"now","day":null}',
    ]
