"""ENCODE AVRO: what fastavro has written is read as fastavro reads it; damage stays where it is."""

from __future__ import annotations

import random
import time
from typing import Any

import pyarrow as pa
import pytest

from risingpy.connectors.formats.source_schema import schema_columns
from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    JSONB,
    NUMERIC,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    SqlType,
    array_of,
    map_of,
    struct_of,
)
from tests.connectors.formats.decoding import (
    USER,
    decode,
    located,
    reasons,
    rows_of,
)

avro_values = pytest.importorskip("tests.connectors.formats.avro_values", reason="fastavro is not installed")


@pytest.mark.parametrize("seed", range(60))
def test_random_schemas_are_read_as_fastavro_reads_them(seed: int) -> None:
    chance = avro_values.Chance(seed)
    schema = chance.record()
    payloads = [avro_values.encoded(schema, chance.value(schema)) for _ in range(40)]
    message_format = located(schema)
    columns = schema_columns(message_format)
    decoded = decode(message_format, columns, payloads)
    assert decoded.bad == ()
    for column, (_, type_) in zip(decoded.columns, columns, strict=True):
        assert column.type == type_.arrow
    found = [
        {name: avro_values.plain(type_, value) for (name, type_), value in zip(columns, row, strict=True)}
        for row in rows_of(decoded)
    ]
    assert found == [avro_values.expected(schema, payload) for payload in payloads]


@pytest.mark.parametrize("seed", range(20))
def test_random_columns_of_random_schemas(seed: int) -> None:
    """Fields that are no columns are read over."""
    chance = avro_values.Chance(seed + 1000)
    schema = chance.record()
    payloads = [avro_values.encoded(schema, chance.value(schema)) for _ in range(20)]
    message_format = located(schema)
    columns = [column for k, column in enumerate(schema_columns(message_format)) if k % 2]
    decoded = decode(message_format, [*columns, ("other", INTEGER)], payloads)
    assert decoded.bad == ()
    read = [avro_values.expected(schema, payload) for payload in payloads]
    for (name, type_), column in zip(columns, decoded.columns, strict=False):
        assert [avro_values.plain(type_, value) for value in column.to_pylist()] == [row[name] for row in read]
    assert decoded.columns[-1].null_count == len(payloads)


@pytest.mark.parametrize("seed", range(12))
def test_damage_stays_in_its_message(seed: int) -> None:
    """A byte changed, cut off or added: nothing raises, and each neighbour keeps its row."""
    chance, damage = avro_values.Chance(seed + 2000), random.Random(seed)
    schema = chance.record()
    payloads = [avro_values.encoded(schema, chance.value(schema)) for _ in range(1_800)]
    hurt = set(damage.sample(range(len(payloads)), 900))
    for k in hurt:
        cut = damage.randrange(len(payloads[k]) + 1)
        middle = bytes(damage.randrange(256) for _ in range(damage.randrange(3)))
        payloads[k] = payloads[k][:cut] + middle + payloads[k][cut + damage.randrange(4) :]
    message_format = located(schema)
    columns = schema_columns(message_format)
    decoded = decode(message_format, columns, payloads)
    assert set(reasons(decoded)) <= hurt
    found = dict(zip(decoded.messages.to_pylist(), rows_of(decoded), strict=True))
    assert found.keys() | set(reasons(decoded)) == set(range(len(payloads)))
    for k in sorted(set(range(len(payloads))) - hurt)[::9]:
        row = {name: avro_values.plain(type_, value) for (name, type_), value in zip(columns, found[k], strict=True)}
        assert row == avro_values.expected(schema, payloads[k])
    for column in decoded.columns:
        column.validate(full=True)


_SCALARS = (BOOLEAN, INTEGER, BIGINT, DOUBLE, VARCHAR, BYTEA, DATE, TIME, TIMESTAMPTZ, INTERVAL, UUID, JSONB, NUMERIC)


def any_type(chance: random.Random, depth: int = 2) -> SqlType:
    """A type that a user may have written for a column, whatever the schema says."""
    match chance.choice(["scalar"] * 4 + ["array", "struct", "map"]) if depth else "scalar":
        case "array":
            return array_of(any_type(chance, depth - 1))
        case "struct":
            return struct_of(["f0", "f1"], [any_type(chance, depth - 1), any_type(chance, depth - 1)])
        case "map":
            return map_of(VARCHAR, any_type(chance, depth - 1))
    return chance.choice(_SCALARS)


@pytest.mark.parametrize("seed", range(20))
def test_columns_of_other_types_make_messages_bad_at_worst(seed: int) -> None:
    chance, types = avro_values.Chance(seed + 3000), random.Random(seed)
    schema = chance.record()
    payloads = [avro_values.encoded(schema, chance.value(schema)) for _ in range(10)]
    for _ in range(5):
        columns = [(name, any_type(types)) for name, _ in schema_columns(located(schema))]
        decoded = decode(located(schema), columns, payloads)
        assert set(decoded.messages.to_pylist()) | set(reasons(decoded)) == set(range(10))
        for column, (_, type_) in zip(decoded.columns, columns, strict=True):
            assert column.type == type_.arrow
            column.validate(full=True)


def test_a_list_that_says_it_is_long_costs_nothing() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}]}
    huge = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"
    begin = time.monotonic()
    decoded = decode(located(schema), schema_columns(located(schema)), [huge, b"\x00", b"\x04\x00"])
    assert time.monotonic() - begin < 20  # the kernel may have to be compiled
    assert reasons(decoded) == {0: "a list has more items than the message has bytes"}
    assert rows_of(decoded) == [([],), ([None, None],)]


def test_every_rule_has_its_reason() -> None:
    fields = [
        {"name": "i", "type": "int"},
        {"name": "s", "type": "string"},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A"]}},
        {"name": "b", "type": "boolean"},
        {"name": "u", "type": ["null", "long"]},
        {"name": "d", "type": {"type": "int", "logicalType": "time-millis"}},
    ]
    good = b"\x02\x02a\x00\x01\x00\x00"
    payloads = [
        good,
        b"\x02\x02a\x00\x01\x00",
        good + b"\x00",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + good[1:],
        b"\x80\x80\x80\x80\x20" + good[1:],
        b"\x02\x01a\x00\x01\x00\x00",
        b"\x02\x02a\x02\x01\x00\x00",
        b"\x02\x02a\x00\x02\x00\x00",
        b"\x02\x02a\x00\x01\x04\x00",
        b"\x02\x02\xff\x00\x01\x00\x00",
        b"\x02\x02a\x00\x01\x00\x01",
        None,
    ]
    schema = located({"type": "record", "name": "R", "fields": fields})
    decoded = decode(schema, schema_columns(schema), payloads)
    assert reasons(decoded) == {
        1: "the message ends within a value",
        2: "the message has bytes after its last value",
        3: "a number has too many bytes",
        4: "a number has too many bytes",
        5: "a length is negative",
        6: "an enum has no such symbol",
        7: "a boolean is neither 0 nor 1",
        8: "a union has no such branch",
        9: "invalid byte sequence for encoding UTF8: byte 0 of a string",
        10: "a time-millis is out of range",
        11: "the message is empty",
    }
    assert decoded.messages.to_pylist() == [0]


def test_a_union_of_several_types_is_a_struct() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "u", "type": ["null", "int", "string", USER]}]}
    values = [None, ("int", 5), ("string", "x"), ("shop.User", {"id": 1, "name": None})]
    payloads = [avro_values.encoded(schema, {"u": value}) for value in values]
    ((name, type_),) = schema_columns(located(schema))
    assert type_ == struct_of(
        ["int", "string", "shop.User"], [INTEGER, VARCHAR, struct_of(["id", "name"], [BIGINT, VARCHAR])]
    )
    empty = {"int": None, "string": None, "shop.User": None}
    assert [row[0] for row in rows_of(decode(located(schema), [(name, type_)], payloads))] == [
        None,
        {**empty, "int": 5},
        {**empty, "string": "x"},
        {**empty, "shop.User": {"id": 1, "name": None}},
    ]


def test_what_a_column_does_not_hold_is_bad() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}
    payloads = [avro_values.encoded(schema, {"n": n}) for n in (1, 2**40, 3)]
    decoded = decode(located(schema), [("n", INTEGER)], payloads)
    assert reasons(decoded) == {1: 'column "n": value "1099511627776" is out of range for type integer'}
    assert rows_of(decoded) == [(1,), (3,)]


def test_nanoseconds_are_kept_where_the_column_has_them() -> None:
    local = {"type": "long", "logicalType": "local-timestamp-nanos"}
    schema = {"type": "record", "name": "R", "fields": [{"name": "at", "type": local}]}
    payloads = [avro_values.encoded(schema, {"at": nanos}) for nanos in (1_704_067_200_123_456_789, -1, 2**63 - 1)]
    found = {type_: decode(located(schema), [("at", type_)], payloads) for type_ in (TIMESTAMP_NS, TIMESTAMP, VARCHAR)}
    assert schema_columns(located(schema)) == [("at", TIMESTAMP)]
    for decoded in found.values():
        assert reasons(decoded) == {2: "a local-timestamp-nanos is out of range"}
    numbers = {type_: found[type_].columns[0].cast(pa.int64()).to_pylist() for type_ in (TIMESTAMP_NS, TIMESTAMP)}
    assert numbers[TIMESTAMP_NS] == [1_704_067_200_123_456_789, -1]
    assert numbers[TIMESTAMP] == [1_704_067_200_123_456, -1]
    texts = ["2024-01-01 00:00:00.123456789", "1969-12-31 23:59:59.999999999"]
    assert found[VARCHAR].columns[0].to_pylist() == texts


def test_a_key_twice_in_a_map_is_bad() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "m", "type": {"type": "map", "values": "int"}}]}
    payloads = [b"\x04\x02a\x02\x02a\x04\x00", b"\x04\x02a\x02\x02b\x04\x00"]
    decoded = decode(located(schema), schema_columns(located(schema)), payloads)
    assert reasons(decoded) == {0: 'a map has the key "a" twice'}
    assert rows_of(decoded) == [([("a", 1), ("b", 2)],)]


def test_maps_and_records_as_jsonb() -> None:
    inner = {"type": "map", "values": ["null", "long"]}
    schema = {"type": "record", "name": "R", "fields": [{"name": "m", "type": inner}, {"name": "u", "type": USER}]}
    payload = avro_values.encoded(schema, {"m": {"a": 1, "b": None}, "u": {"id": 1, "name": "x"}})
    as_jsonb = located(schema, **{"map.handling.mode": "jsonb"})
    assert schema_columns(as_jsonb)[0] == ("m", JSONB)
    assert schema_columns(located(schema))[0] == ("m", map_of(VARCHAR, BIGINT))
    decoded = decode(as_jsonb, [("m", JSONB), ("u", JSONB)], [payload])
    assert rows_of(decoded) == [('{"a": 1, "b": null}', '{"id": 1, "name": "x"}')]


def _many() -> Any:
    """A small schema of which a record has 10 to the power of 9 values."""
    schema: Any = "long"
    for depth in range(9):
        named = f"N{depth}"
        fields = [{"name": "f0", "type": schema}]
        inner = schema["name"] if isinstance(schema, dict) else schema
        fields += [{"name": f"f{k}", "type": inner} for k in range(1, 10)]
        schema = {"type": "record", "name": named, "fields": fields}
    return schema


NODE = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}


@pytest.mark.parametrize(
    ("schema", "error", "message"),
    [
        (NODE, FeatureNotSupported, 'the Avro type "N" contains itself, which is not supported'),
        (
            {"type": "record", "name": "R", "fields": [{"name": "a", "type": "x"}]},
            InvalidParameterValue,
            'unknown type "x"',
        ),
        ({"type": "record", "fields": []}, InvalidParameterValue, "an Avro record needs a name"),
        ("long", InvalidParameterValue, "the Avro schema is a long, not a record"),
        ({"type": "record", "name": "R", "fields": 7}, InvalidParameterValue, "no Avro schema"),
        ({"type": "enum", "name": "R", "symbols": 7}, InvalidParameterValue, "no Avro schema"),
        ({"type": "record", "name": "R", "fields": [7]}, InvalidParameterValue, "no field of an Avro record"),
        ({"type": "array", "items": None}, InvalidParameterValue, "no Avro schema"),
        (7, InvalidParameterValue, "no Avro schema"),
        (_many(), FeatureNotSupported, "an Avro schema of more than 10000 values"),
    ],
)
def test_schemas_that_are_refused(schema: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        schema_columns(located(schema))
