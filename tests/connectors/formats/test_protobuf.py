"""ENCODE PROTOBUF: what Google's runtime has written is what the columns hold; damage stays in its message."""

from __future__ import annotations

import base64
import datetime as dt
import functools
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from risingpy.connectors.formats.choice import decoder_of
from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.formats.schema_options import with_text
from risingpy.connectors.formats.source_schema import schema_columns, with_schema
from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.types import BIGINT, INTEGER, JSONB, NUMERIC, TIMESTAMPTZ, VARCHAR, array_of, map_of, struct_of
from risingpy.types.forms import text_column
from tests.connectors.formats.decoding import changes, decode, reasons, rows_of
from tests.connectors.systems.schema_registry import schema_registry

descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2", reason="protobuf is not installed")

_FIELD = descriptor_pb2.FieldDescriptorProto
_KINDS = ("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "bool")


def _file(name: str, package: str) -> Any:
    return descriptor_pb2.FileDescriptorProto(name=name, package=package, syntax="proto3")


def _add(message: Any, name: str, kind: str, *, repeated: bool = False, optional: bool = False) -> Any:
    """A field: `kind` is a scalar's name, or `.package.Message`."""
    field = message.field.add(name=name, number=len(message.field) + 1)
    field.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
    if kind.startswith("."):
        field.type = _FIELD.TYPE_ENUM if kind.endswith("Color") else _FIELD.TYPE_MESSAGE
        field.type_name = kind
    else:
        field.type = _FIELD.Type.Value(f"TYPE_{kind.upper()}")
    if optional:
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")
    return field


def _orders() -> Any:
    """A file with a message of every kind of field."""
    file = _file("orders.proto", "shop")
    file.dependency.append("google/protobuf/timestamp.proto")
    color = file.enum_type.add(name="Color")
    for number, name in enumerate(("RED", "GREEN")):
        color.value.add(name=name, number=number)
    item = file.message_type.add(name="Item")
    _add(item, "sku", "string")
    _add(item, "n", "int32", optional=True)
    order = file.message_type.add(name="Order")
    entry = order.nested_type.add(name="LabelsEntry")
    entry.options.map_entry = True
    _add(entry, "key", "string")
    _add(entry, "value", "int64")
    for kind in (*_KINDS, "string", "bytes"):
        _add(order, f"f_{kind}", kind)
    _add(order, "maybe", "int64", optional=True)
    _add(order, "color", ".shop.Color")
    _add(order, "at", ".google.protobuf.Timestamp")
    _add(order, "item", ".shop.Item")
    _add(order, "items", ".shop.Item", repeated=True)
    _add(order, "tags", "string", repeated=True)
    _add(order, "labels", ".shop.Order.LabelsEntry", repeated=True)
    return file


def _text(*files: Any) -> str:
    return base64.b64encode(descriptor_pb2.FileDescriptorSet(file=files).SerializeToString()).decode()


def located(
    row_format: str = "plain", *, text: str | None = None, message: str = "shop.Order", **more: str
) -> MessageFormat:
    chosen = {"schema.location": "file:///orders.pb", "message": message, **more}
    return with_text(MessageFormat(row_format, "protobuf", tuple(chosen.items())), text or _text(_orders()))


@functools.cache
def order_class() -> Any:
    from risingpy.connectors.formats.protobuf.descriptors import message_class

    return message_class(_text(_orders()), "shop.Order")


def random_order(chance: random.Random) -> dict[str, Any]:
    """What a message may hold, and no key for what it leaves out."""
    bounds = {"int32": 31, "sint32": 31, "int64": 63, "sint64": 63}
    found: dict[str, Any] = {}
    for kind in _KINDS:
        bits = 64 if "64" in kind else 32
        low, high = (-(2 ** bounds[kind]), 2 ** bounds[kind] - 1) if kind in bounds else (0, 2**bits - 1)
        found[f"f_{kind}"] = chance.choice([low, high, chance.randint(0, 999)])
    found |= {"f_double": chance.random(), "f_float": chance.randint(0, 99) / 4, "f_bool": chance.random() < 0.5}
    found |= {"f_string": "".join(chance.choices("aé😀", k=3)), "f_bytes": chance.randbytes(3)}
    found["color"] = chance.choice([0, 1, 7])
    items = [{"sku": f"s{k}"} if k % 2 else {"sku": f"s{k}", "n": k} for k in range(chance.randint(0, 4))]
    found |= {"items": items, "tags": chance.choices("xyz", k=chance.randint(0, 3))}
    found["labels"] = {f"k{k}": chance.getrandbits(60) for k in range(chance.randint(0, 3))}
    if chance.random() < 0.5:
        found |= {"maybe": chance.getrandbits(60), "item": {"sku": "one", "n": 1}}
        found["at"] = dt.datetime(2026, 1, 2, 3, 4, 5, chance.randrange(10**6), tzinfo=dt.UTC)
    return found


def encoded(order: dict[str, Any]) -> bytes:
    message = order_class()()
    for name, value in order.items():
        match name:
            case "at":
                message.at.FromDatetime(value)
            case "item":
                message.item.sku, message.item.n = value["sku"], value["n"]
            case "items":
                for item in value:
                    message.items.add(**item)
            case "tags":
                message.tags.extend(value)
            case "labels":
                message.labels.update(value)
            case _:
                setattr(message, name, value)
    data: bytes = message.SerializeToString()
    return data


def expected(order: dict[str, Any]) -> dict[str, Any]:
    colors = {0: "RED", 1: "GREEN"}
    items = [{"sku": item["sku"], "n": item.get("n")} for item in order["items"]]
    left_out = {name: order.get(name) for name in ("maybe", "item", "at")}
    return {**order, **left_out, "items": items, "color": colors.get(order["color"], str(order["color"]))}


def test_columns_of_a_message() -> None:
    item = struct_of(["sku", "n"], [VARCHAR, INTEGER])
    found = dict(schema_columns(located()))
    assert (found["f_uint32"], found["f_uint64"], found["f_sint32"], found["color"]) == (
        BIGINT,
        NUMERIC,
        INTEGER,
        VARCHAR,
    )
    assert (found["at"], found["item"], found["items"], found["tags"]) == (
        *(TIMESTAMPTZ, item),
        *(array_of(item), array_of(VARCHAR)),
    )
    assert found["labels"] == map_of(VARCHAR, BIGINT)
    assert dict(schema_columns(located(**{"map.handling.mode": "jsonb"})))["labels"] == JSONB


def test_random_messages() -> None:
    chance = random.Random(3)
    orders = [random_order(chance) for _ in range(300)]
    columns = schema_columns(located())
    decoded = decode(located(), columns, [encoded(order) for order in orders])
    assert decoded.bad == ()
    arrays = dict(zip((name for name, _ in columns), decoded.columns, strict=True))
    for name, type_ in columns:
        values = arrays[name].to_pylist()
        if type_ == NUMERIC:
            values = [int(text) for text in text_column(NUMERIC, arrays[name]).to_pylist()]
        if name == "labels":
            values = [dict(entries) for entries in values]
        assert arrays[name].type == type_.arrow
        assert values == [expected(order)[name] for order in orders], name


def test_ten_thousand_mutated_messages() -> None:
    """Protobuf checks little, so a damaged message may be a row: its neighbours keep theirs."""
    chance = random.Random(4)
    payloads = [encoded({**_SMALL, "f_int64": k}) for k in range(20_000)]
    hurt = set(chance.sample(range(len(payloads)), 10_000))
    for k in hurt:
        cut = chance.randrange(len(payloads[k]))
        payloads[k] = payloads[k][:cut] + bytes([chance.randrange(256)]) + payloads[k][cut + chance.randrange(3) :]
    decoded = decode(located(), [("f_int64", BIGINT), ("items", JSONB), ("at", TIMESTAMPTZ)], payloads)
    assert set(reasons(decoded)) <= hurt
    found = dict(zip(decoded.messages.to_pylist(), rows_of(decoded), strict=True))
    assert all(found[k][0] == k for k in range(len(payloads)) if k not in hurt)
    assert found.keys() | set(reasons(decoded)) == set(range(len(payloads)))


_SMALL: dict[str, Any] = {"items": [{"sku": "a"}], "tags": ["t"], "labels": {"x": 1}, "color": 1, "f_string": "é"}


def test_upserts() -> None:
    payloads = [encoded({**_SMALL, "f_int64": 7}), None, b"\xff"]
    decoded = decode(located("upsert"), [("id", INTEGER), ("f_int64", BIGINT)], payloads, [b"1", b"1", b"2"], ["id"])
    assert changes(decoded) == [(1, (1, 7)), (-1, (1, None))]
    assert reasons(decoded) == {2: "no Protobuf message of type shop.Order"}


def test_messages_of_a_registry() -> None:
    """A registry gives descriptors in base64; a message says which of its file's messages it is."""
    common, orders = _file("common.proto", "shop"), _file("t.proto", "shop")
    _add(common.message_type.add(name="Money"), "cents", "int64")
    orders.dependency.append("shop/common.proto")
    orders.message_type.add(name="Other")
    _add(orders.message_type.add(name="Paid"), "price", ".shop.Money")
    with schema_registry() as registry:
        registry.register("common", base64.b64encode(common.SerializeToString()).decode(), "PROTOBUF")
        reference = {"name": "shop/common.proto", "subject": "common", "version": 1}
        text = base64.b64encode(orders.SerializeToString()).decode()
        registry.register("t-value", text, "PROTOBUF", [reference])
        options = (("schema.registry", registry.address), ("message", "shop.Paid"))
        message_format = with_schema(MessageFormat("plain", "protobuf", options), {"topic": "t"})
        registry.register("source-value", 'syntax = "proto3";', "PROTOBUF")
        with pytest.raises(FeatureNotSupported, match="does not give Protobuf's descriptors"):
            with_schema(MessageFormat("plain", "protobuf", options), {"topic": "source"})
    columns = schema_columns(message_format)
    assert columns == [("price", struct_of(["cents"], [BIGINT]))]
    body = b"\x0a\x02\x08\x05"
    header = b"\0\0\0\0\x02"
    payloads = [header + b"\x02\x02" + body, header + b"\x00" + body, header, body, header + b"\x80", None, b""]
    decoded = decode(message_format, columns, payloads)
    assert rows_of(decoded) == [({"cents": 5},), ({"cents": 5},)]
    assert set(reasons(decoded)) == {2, 3, 4, 5, 6}


def test_a_file_of_descriptors(tmp_path: Path) -> None:
    path = tmp_path / "orders.pb"
    path.write_bytes(base64.b64decode(_text(_orders())))
    options = (("schema.location", f"file://{path}"), ("message", "shop.Order"))
    message_format = with_schema(MessageFormat("plain", "protobuf", options), {})
    decoded = decode(message_format, [("F_INT64", BIGINT), ("gone", VARCHAR)], [encoded({**_SMALL, "f_int64": 3})])
    assert rows_of(decoded) == [(3, None)]
    path.write_bytes(b"\xff\xff")
    with pytest.raises(InvalidParameterValue, match="no set of Protobuf descriptors"):
        with_schema(message_format, {})


def _node() -> str:
    file = _file("node.proto", "shop")
    node = file.message_type.add(name="Node")
    _add(node, "next", ".shop.Node")
    return _text(file)


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda: located(message="shop.X"), InvalidParameterValue, 'the schema has no Protobuf message "shop.X"'),
        (lambda: located(text=_node(), message="shop.Node"), FeatureNotSupported, "contains itself"),
    ],
)
def test_schemas_that_are_refused(made: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        schema_columns(made())


def test_options_that_are_refused() -> None:
    with pytest.raises(InvalidParameterValue, match="needs the option message"):
        with_schema(MessageFormat("plain", "protobuf", (("schema.location", "/x"),)), {})
    with pytest.raises(FeatureNotSupported, match="FORMAT DEBEZIUM ENCODE PROTOBUF is not supported"):
        decoder_of(located("debezium"), [("id", INTEGER)], ["id"])


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server runs without it; CREATE says what to install."""
    for name in list(sys.modules):
        if name.startswith("risingpy.connectors.formats.protobuf."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(FeatureNotSupported, match="ENCODE PROTOBUF is not installed") as error:
        schema_columns(located())
    assert error.value.hint == "Install it: pip install 'risingpy[protobuf]'"
