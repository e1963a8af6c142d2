"""FORMAT … ENCODE AVRO of sinks: fastavro reads what is written, and the registry has its schema."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets.encoders.choice import encoder_of
from risingpy.connectors.targets.encoders.registered.wire_bytes import varints, zigzag
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import (
    FeatureNotSupported,
    InvalidParameterValue,
    NumericValueOutOfRange,
    SqlError,
    TargetUnavailable,
)
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INT256,
    INTEGER,
    INTERVAL,
    JSONB,
    NUMERIC,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    SqlType,
    array_of,
    map_of,
    numeric,
    struct_of,
)
from tests.connectors.systems.schema_registry import Registry, schema_registry
from tests.connectors.targets.changes import Row, changes_of

Columns = tuple[tuple[str, SqlType], ...]
OPTIONS = {"schema_registry_name_strategy": "schema.registry.name.strategy", "message": "message",
           "key_message": "key.message"}  # fmt: skip
A_MAP = "a map"
COLUMNS: Columns = (("id", INTEGER), ("name", VARCHAR))


@pytest.fixture
def registry() -> Iterator[Registry]:
    with schema_registry() as started:
        yield started


def read(registry: Registry, message: bytes | None) -> Any:
    """The record of a message, by the schema whose id it has."""
    if message is None:
        return None
    assert message[0] == 0
    schema = json.loads(registry.schemas[int.from_bytes(message[1:5], "big") - 1]["schema"])
    stream = io.BytesIO(message[5:])
    found: Any = fastavro.schemaless_reader(stream, fastavro.parse_schema(schema), None)
    assert not stream.read()
    return found


def written(
    registry: Registry, columns: Columns, rows: list[tuple[int, Row]], key: tuple[int, ...] = (), **options: str
) -> list[tuple[Any, Any]]:
    """(key, row) of each message, as fastavro reads them."""
    named = (("schema.registry", registry.address), *((OPTIONS[k], v) for k, v in options.items()))
    type_, name = (SinkType.UPSERT, "upsert") if key else (SinkType.APPEND_ONLY, "plain")
    schema = SinkSchema("s", columns, key, type_)
    changes = changes_of(schema, [(op, [None if text == A_MAP else text for text in row]) for op, row in rows])
    for index, (_, column_type) in enumerate(columns):
        if column_type == map_of(VARCHAR, DOUBLE):  # which has no texts
            maps = [[("a", 1.5), ("b", None)] if row[index] == A_MAP else None for _, row in rows]
            changes = changes.set_column(index + 1, f"c{index}", pa.array(maps, column_type.arrow))
    messages = encoder_of(MessageFormat(name, "avro", named), schema, "t").encode(changes)
    pairs = zip(messages.keys.to_pylist(), messages.values.to_pylist(), strict=True)
    return [(read(registry, key), read(registry, value)) for key, value in pairs]


def test_every_type_is_read_back(registry: Registry) -> None:
    columns: Columns = (
        ("b", BOOLEAN), ("s", SMALLINT), ("i", INTEGER), ("l", BIGINT), ("r", REAL), ("d", DOUBLE), ("n", NUMERIC),
        ("p", numeric(12, 3, declared=True)), ("x", INT256), ("v", VARCHAR), ("y", BYTEA), ("da", DATE), ("ti", TIME),
        ("ts", TIMESTAMP), ("tz", TIMESTAMPTZ), ("iv", INTERVAL), ("j", JSONB), ("u", UUID),
        ("a", array_of(array_of(SMALLINT))), ("st", struct_of(["x", "y"], [UUID, array_of(VARCHAR)])),
        ("m", map_of(VARCHAR, DOUBLE)),
    )  # fmt: skip
    uid, moment = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "1969-12-31 23:59:59.999999"
    row: Row = ["t", "-7", "2147483647", "-9223372036854775808", "0.5", "1e300", "1.50", "-123456789.125", "-5", "é",
                "\\x00ff", "1969-12-31", "01:02:03.000004", moment, f"{moment}+00", "1 day 02:00:00", '{"a": 1}', uid,
                "{{1,2},{},{3,NULL}}", f"({uid},\"{{a,NULL}}\")", A_MAP]  # fmt: skip
    [(_, first), (_, second), (_, third)] = written(registry, columns, [(1, row), (1, [None] * 21), (1, row)])
    before_1970 = dt.datetime(1969, 12, 31, 23, 59, 59, 999999)
    assert first == {
        "b": True, "s": -7, "i": 2147483647, "l": -(2**63), "r": 0.5, "d": 1e300, "n": "1.50",
        "p": Decimal("-123456789.125"), "x": "-5", "v": "é", "y": b"\x00\xff", "da": dt.date(1969, 12, 31),
        "ti": dt.time(1, 2, 3, 4), "ts": before_1970, "tz": before_1970.replace(tzinfo=dt.UTC),
        "iv": "1 day 02:00:00", "j": '{"a": 1}', "u": first["u"], "a": [[1, 2], [], [3, None]],
        "st": {"x": first["u"], "y": ["a", None]}, "m": {"a": 1.5, "b": None},
    }  # fmt: skip
    assert str(first["u"]) == uid
    assert third == first
    assert set(second.values()) == {None}
    assert list(registry.subjects) == ["t-value"]


def test_nanoseconds_stay(registry: Registry) -> None:
    columns: Columns = (("at", TIMESTAMP_NS),)
    [(_, before), (_, none)] = written(registry, columns, [(1, ["1969-12-31 23:59:59.999999999"]), (1, [None])])
    assert (before, none) == ({"at": -1}, {"at": None})  # fastavro does not know the logical type
    assert "local-timestamp-nanos" in str(registry.schemas)


def test_upsert_has_keys_and_tombstones(registry: Registry) -> None:
    rows: list[tuple[int, Row]] = [(-1, ["1", "old"]), (-1, ["2", "gone"]), (1, ["3", None]), (1, ["1", "now"])]
    assert written(registry, COLUMNS, rows, (0,)) == [
        ({"id": 2}, None),
        ({"id": 3}, {"id": 3, "name": None}),
        ({"id": 1}, {"id": 1, "name": "now"}),
    ]
    assert sorted(registry.subjects) == ["t-key", "t-value"]
    by_record = {"schema_registry_name_strategy": "record_name_strategy", "message": "shop.O", "key_message": "shop.K"}
    assert written(registry, COLUMNS, rows, (0,), **by_record)[1] == ({"id": 3}, {"id": 3, "name": None})
    assert sorted(registry.subjects) == ["shop.K", "shop.O", "t-key", "t-value"]


def test_a_schema_that_is_there_says_the_types(registry: Registry) -> None:
    """Its order, its units, its own unions; what the sink does not have is null."""
    fields: list[dict[str, Any]] = [
        {"name": "more", "type": ["null", "long"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "amount", "type": [{"type": "fixed", "name": "F", "size": 5, "logicalType": "decimal", "precision": 9,
                                     "scale": 2}, "null"]},
        {"name": "kind", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
        {"name": "id", "type": "long"},
        {"name": "wide", "type": {"type": "fixed", "name": "W", "size": 20, "logicalType": "decimal", "precision": 38,
                                  "scale": 0}},
    ]  # fmt: skip
    registry.register("t-value", {"type": "record", "name": "R", "fields": fields})
    columns: Columns = (
        ("id", INTEGER), ("kind", VARCHAR), ("amount", NUMERIC), ("at", TIMESTAMPTZ), ("wide", BIGINT)
    )  # fmt: skip
    at = "1969-12-31 23:59:59.999999+00"
    rows: list[tuple[int, Row]] = [(1, ["7", "B", "-12.345", at, "-1"]), (1, ["8", "A", None, at, "3"])]
    moment = dt.datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=dt.UTC)
    assert [row for _, row in written(registry, columns, rows)] == [
        {"more": None, "at": moment, "amount": Decimal("-12.35"), "kind": "B", "id": 7, "wide": -1},
        {"more": None, "at": moment, "amount": None, "kind": "A", "id": 8, "wide": 3},
    ]
    for wrong, error, state in (
        (["7", "C", "1", at, "1"], '"C" is no symbol', "22P02"),
        (["7", "A", "9999999999", at, "1"], "does not fit into 5 bytes", NumericValueOutOfRange.sqlstate),
        ([None, "A", "1", at, "1"], 'NULL in column "id"', "22004"),
    ):
        with pytest.raises(SqlError, match=error) as raised:
            written(registry, columns, [(1, wrong)])
        assert raised.value.sqlstate == state


@pytest.mark.parametrize(
    ("schema", "error", "state"),
    [
        ({"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}, '"name" is not in', "42703"),
        ({"type": "record", "name": "R", "fields": [{"name": "id", "type": "boolean"}, {"name": "name",
          "type": "string"}]}, 'column "id" is of type integer, and the Avro schema has boolean', "42804"),
        ({"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": "string"},
          {"name": "z", "type": "int"}]}, 'needs "z"', "42703"),
        ({"type": "record", "name": "R", "fields": [{"name": "id", "type": ["int", "string"]}, {"name": "name",
          "type": "string"}]}, "union of several types", "0A000"),
        ("long", "is a long, not a record", "42804"),
    ],
)  # fmt: skip
def test_schemas_that_do_not_fit(registry: Registry, schema: Any, error: str, state: str) -> None:
    registry.register("t-value", json.dumps(schema))
    with pytest.raises(SqlError, match=error) as raised:
        written(registry, COLUMNS, [])
    assert raised.value.sqlstate == state


def test_a_registry_that_is_away_or_refuses(registry: Registry) -> None:
    registry.is_down = True
    with pytest.raises(TargetUnavailable, match="schema registry does not answer"):
        written(registry, COLUMNS, [])
    registry.is_down, registry.refuses = False, True
    with pytest.raises(InvalidParameterValue, match="incompatible"):
        written(registry, COLUMNS, [])
    with pytest.raises(InvalidParameterValue, match='"a b" cannot be the name of a field in Avro'):
        written(registry, (("a b", INTEGER),), [])


def test_options(registry: Registry) -> None:
    schema = SinkSchema("s", COLUMNS, (0,), SinkType.UPSERT)
    with pytest.raises(InvalidParameterValue, match=r"needs either schema\.registry"):
        encoder_of(MessageFormat("upsert", "avro", ()), schema, "t")
    with pytest.raises(InvalidParameterValue, match='unknown option "colour"'):
        encoder_of(MessageFormat("upsert", "avro", (("schema.registry", "http://x"), ("colour", "red"))), schema, "t")
    with pytest.raises(FeatureNotSupported, match=r"needs a schema\.registry"):
        encoder_of(MessageFormat("upsert", "avro", (("schema.location", "file:///x"),)), schema, "t")
    with pytest.raises(FeatureNotSupported, match="for a topic"):
        encoder_of(MessageFormat("upsert", "avro", (("schema.registry", "http://x"),)), schema)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_varints_are_avros(numbers: list[int]) -> None:
    expected = []
    for number in numbers:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, "long", number)
        expected.append(stream.getvalue())
    assert varints(zigzag(np.array(numbers, np.int64))).to_pylist() == expected
