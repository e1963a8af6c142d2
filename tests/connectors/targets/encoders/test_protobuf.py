"""FORMAT … ENCODE PROTOBUF of sinks: Google's runtime reads what is written, and so do our own sources."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.formats.source_schema import schema_columns
from risingpy.connectors.targets.encoders.choice import encoder_of
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError, TargetUnavailable
from risingpy.types import BIGINT, INTEGER, VARCHAR, SqlType
from tests.connectors.formats.decoding import decode
from tests.connectors.systems.schema_registry import Registry, schema_registry
from tests.connectors.targets.changes import Row, changes_of

descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2", reason="protobuf is not installed")
written_by_google = pytest.importorskip("tests.connectors.formats.test_protobuf", reason="protobuf is not installed")


@pytest.fixture
def located(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The options of the message `shop.Order`, whose descriptors are in a file."""
    file = descriptor_pb2.FileDescriptorSet(file=[written_by_google._orders()])
    (tmp_path / "orders.pb").write_bytes(file.SerializeToString())
    return {"schema.location": f"file://{tmp_path}/orders.pb", "message": "shop.Order"}


@pytest.fixture
def registry() -> Iterator[Registry]:
    """It gives descriptors, as Confluent's does if it is asked for them."""
    with schema_registry() as started:
        file = base64.b64encode(written_by_google._orders().SerializeToString()).decode()
        started.register("other-value", {"type": "record", "name": "R", "fields": []})
        started.register("t-value", file, "PROTOBUF")
        yield started


def encoded(
    columns: Sequence[tuple[str, SqlType]], changes: pa.Table, options: dict[str, str], key: tuple[int, ...] = ()
) -> list[tuple[bytes | None, bytes | None]]:
    type_, name = (SinkType.UPSERT, "upsert") if key else (SinkType.APPEND_ONLY, "plain")
    schema = SinkSchema("s", tuple(columns), key, type_)
    messages = encoder_of(MessageFormat(name, "protobuf", tuple(options.items())), schema, "t").encode(changes)
    return list(zip(messages.keys.to_pylist(), messages.values.to_pylist(), strict=True))


def rows(columns: Sequence[tuple[str, SqlType]], *texts: Row) -> pa.Table:
    return changes_of(SinkSchema("s", tuple(columns), (), SinkType.APPEND_ONLY), [(1, row) for row in texts])


def test_every_field_is_read_back(located: dict[str, str]) -> None:
    """What Google's runtime has written is decoded to columns, and what these are encoded to is the same messages."""
    chance = random.Random(11)
    orders = [{**written_by_google.random_order(chance), "color": chance.randrange(2)} for _ in range(60)]
    payloads = [written_by_google.encoded(order) for order in orders]
    chosen = written_by_google.located()
    columns = schema_columns(chosen)
    decoded = decode(chosen, columns, payloads)
    assert not decoded.bad
    changes = pa.table([decoded.ops, *decoded.columns], names=["op", *(f"c{k}" for k in range(len(columns)))])
    message = written_by_google.order_class()
    found = [message.FromString(value) for _, value in encoded(columns, changes, located)]
    assert found == [message.FromString(payload) for payload in payloads]


def test_an_id_and_the_place_of_the_message_come_before(registry: Registry) -> None:
    options = {"schema.registry": registry.address, "message": "shop.Item"}
    columns = (("sku", VARCHAR), ("n", INTEGER))
    [(_, first), (_, second)] = encoded(columns, rows(columns, ["a", "-3"], ["é", None]), options)
    assert first == b"\x00\x00\x00\x00\x02\x00" + b"\x0a\x01a" + b"\x10" + b"\xfd" + b"\xff" * 8 + b"\x01"
    assert second == b"\x00\x00\x00\x00\x02\x00" + b"\x0a\x02" + "é".encode()
    [(_, nested)] = encoded((("key", VARCHAR),), rows((("key", VARCHAR),), ["k"]),
                            {**options, "message": "shop.Order.LabelsEntry"})  # fmt: skip
    assert nested == b"\x00\x00\x00\x00\x02" + b"\x04\x02\x00" + b"\x0a\x01k"


def test_keys_are_json_or_texts(located: dict[str, str]) -> None:
    columns = (("f_int64", BIGINT), ("f_string", VARCHAR))
    changes = changes_of(SinkSchema("s", columns, (0,), SinkType.UPSERT), [(1, ["7", "x"]), (-1, ["8", "y"])])
    [(key, value), gone] = encoded(columns, changes, located, (0,))
    assert (json.loads(key or b""), gone) == ({"f_int64": 7}, (b'{"f_int64":8}', None))
    assert written_by_google.order_class().FromString(value).f_int64 == 7
    assert [key for key, _ in encoded(columns, changes, {**located, "key.encode": "text"}, (0,))] == [b"7", b"8"]
    assert [key for key, _ in encoded(columns, changes, {**located, "key.encode": "bytes"}, (1,))] == [b"x", b"y"]
    with pytest.raises(InvalidParameterValue, match="KEY ENCODE TEXT needs a primary key of a single column"):
        encoded(columns, changes, {**located, "key.encode": "text"}, (0, 1))
    with pytest.raises(FeatureNotSupported, match="KEY ENCODE AVRO is not supported"):
        encoded(columns, changes, {**located, "key.encode": "avro"}, (0,))


@pytest.mark.parametrize(
    ("columns", "row", "error", "state"),
    [
        ((("nothing", INTEGER),), ["1"], 'column "nothing" is not in the Protobuf message shop.Order', "42703"),
        ((("f_int32", BIGINT),), ["1"], 'column "f_int32" is of type bigint, and .* has int32', "42804"),
        ((("f_bool", VARCHAR),), ["1"], "has bool there", "42804"),
        ((("tags", VARCHAR),), ["x"], "has repeated there", "42804"),
        ((("item", VARCHAR),), ["x"], "has shop.Item there", "42804"),
        ((("f_uint32", BIGINT),), ["-1"], "not from 0 to 2\\^32 - 1", "22003"),
        ((("f_uint32", BIGINT),), ["4294967296"], "not from 0 to 2\\^32 - 1", "22003"),
        ((("color", VARCHAR),), ["BLUE"], '"BLUE" is no value of the Protobuf enum', "22P02"),
    ],
)
def test_what_does_not_fit(
    located: dict[str, str], columns: tuple[tuple[str, SqlType], ...], row: Row, error: str, state: str
) -> None:
    with pytest.raises(SqlError, match=error) as raised:
        encoded(columns, rows(columns, row), located)
    assert raised.value.sqlstate == state


def test_options_and_a_registry_that_is_away(registry: Registry) -> None:
    columns = (("sku", VARCHAR),)
    with pytest.raises(InvalidParameterValue, match="needs the option message"):
        encoded(columns, rows(columns), {"schema.registry": registry.address})
    with pytest.raises(InvalidParameterValue, match=r'no Protobuf message "shop\.Nothing"'):
        encoded(columns, rows(columns), {"schema.registry": registry.address, "message": "shop.Nothing"})
    registry.is_down = True
    with pytest.raises(TargetUnavailable, match="schema registry does not answer"):
        encoded(columns, rows(columns), {"schema.registry": registry.address, "message": "shop.Item"})
