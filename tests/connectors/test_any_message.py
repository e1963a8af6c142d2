"""No message fails a job: any bytes, in any format, with every INCLUDE, go through whole epochs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from risingpy.connectors import registry
from risingpy.meta.epochs.runner import EpochFailed
from tests.connectors.formats.decoding import ENVELOPE, USER
from tests.connectors.systems.listed_messages import CLASS, write_messages
from tests.meta.conftest import Server

GOOD = b'{"id": 7, "name": "good"}'
NUL = b'{"id": 8, "name": "a\\u0000b"}'
INCLUDED = (
    "INCLUDE key AS k INCLUDE partition AS p INCLUDE offset AS o INCLUDE timestamp AS ts INCLUDE header AS hs"
    " INCLUDE header 'h' varchar AS h INCLUDE header 'h' AS hb INCLUDE payload AS payload"
)
COLUMNS = "id INT, name VARCHAR, f DOUBLE, n NUMERIC, b BOOLEAN, at TIMESTAMP, d DATE, j JSONB, x BYTEA, a INT[]"
KEYED = "id INT PRIMARY KEY, name VARCHAR"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(registry, "_CONNECTORS", {**registry._CONNECTORS, "listed": (CLASS, "")})
    server = Server(tmp_path / "data")
    yield server
    server.stop()


def any_bytes(chance: random.Random) -> bytes | None:
    """Nothing, noise, or a message with some of its bytes changed."""
    kind = chance.randrange(6)
    if kind == 0:
        return chance.choice([None, b"", b"\x00", b"\xff" * 9, b"null", b"[]", b"{}", b"\x00\x00\x00\x00\x01"])
    if kind == 1:
        return chance.randbytes(chance.randrange(40))
    if kind == 2:
        text = chance.choice(["\\u0000", "\\ud800", "\\udc00x", '"', "\x00", "\x85", "1e999", "{" * 300, "9" * 400])
        return f'{{"id": 1, "name": "{text}", "f": {text}}}'.encode(errors="replace")
    fields: dict[str, Any] = {
        "id": chance.randrange(9),
        "name": "n\u00e9",
        "f": 1.5,
        "at": "2026-01-01 00:00:00",
        "a": [1, 2],
    }
    row = {name: chance.choice([value, str(value), [value], {"x": value}, None]) for name, value in fields.items()}
    envelope = {
        "op": chance.choice("crudtx"),
        "before": chance.choice([None, row]),
        "after": chance.choice([None, row]),
    }
    message = bytearray(json.dumps(chance.choice([row, envelope, fields])).encode())
    for _ in range(chance.choice([0, 0, 1, 3])):
        message[chance.randrange(len(message))] = chance.randrange(256)
    return bytes(message)


def any_header(chance: random.Random) -> object:
    values = [{"key": chance.choice(["h", "", "\x00", "é"]), "value": any_bytes(chance)} for _ in range(3)]
    return chance.choice([None, [], values])


def avro(schema: Any) -> Callable[[Path], str]:
    def encode(directory: Path) -> str:
        (directory / "schema.avsc").write_text(json.dumps(schema))
        return f"AVRO (schema.location = 'file://{directory / 'schema.avsc'}')"

    return encode


FORMATS: dict[str, tuple[str, str, str, Callable[[Path], str]]] = {
    "json": ("SOURCE", f"({COLUMNS})", "PLAIN", lambda _: "JSON"),
    "csv": ("SOURCE", f"({COLUMNS.replace(', a INT[]', '')})", "PLAIN", lambda _: "CSV (delimiter = ',')"),
    "bytes": ("SOURCE", "(x BYTEA)", "PLAIN", lambda _: "BYTES"),
    "avro": ("SOURCE", "(id BIGINT, name VARCHAR)", "PLAIN", avro(USER)),
    "upsert json": ("TABLE", f"({KEYED})", "UPSERT", lambda _: "JSON"),
    "upsert avro": ("TABLE", "(id BIGINT PRIMARY KEY, name VARCHAR)", "UPSERT", avro(USER)),
    "debezium json": ("TABLE", f"({KEYED})", "DEBEZIUM", lambda _: "JSON"),
    "debezium avro": ("TABLE", "(id BIGINT PRIMARY KEY, name VARCHAR)", "DEBEZIUM", avro(ENVELOPE)),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("included", ["", INCLUDED])
def test_any_bytes_in_any_format(
    server: Server, tmp_path: Path, name: str, included: str, caplog: pytest.LogCaptureFixture
) -> None:
    noun, columns, row_format, encode = FORMATS[name]
    chance = random.Random(name)
    payloads = [GOOD, NUL, *(any_bytes(chance) for _ in range(600))]
    keys = [None, b"\x00", *(any_bytes(chance) for _ in range(600))]
    headers = [any_header(chance) for _ in payloads]
    messages = tmp_path / "messages"
    write_messages(messages, payloads, key=keys, headers=headers)
    client = server.client()
    client.run(
        f"CREATE {noun} s {columns} {included} WITH (connector = 'listed', path = '{messages}')"
        f" FORMAT {row_format} ENCODE {encode(tmp_path)}"
    )
    client.run("CREATE MATERIALIZED VIEW v AS SELECT * FROM s")
    client.run("CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM s")
    client.run("FLUSH")
    ((rows,),) = client.run("SELECT n FROM n")
    lags = client.run("SELECT bad_messages, failure FROM rw_source_lag")
    assert all(failure is None for _, failure in lags)
    if row_format == "PLAIN":
        assert {rows + bad for bad, _ in lags} == {len(payloads)}
    ((errors,),) = client.run("SELECT count(*) FROM rw_source_errors")
    assert (errors > 0) == any(bad for bad, _ in lags)
    assert len(client.run("SELECT * FROM v")) == rows
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
    told = client.run('SELECT * FROM rw_source_errors ORDER BY partition, "offset"')
    bad = client.run("SELECT job_name, bad_messages FROM rw_source_lag ORDER BY 1")
    server.restart()
    client = server.client()
    assert client.run("SELECT n FROM n") == [(rows,)]
    assert client.run('SELECT * FROM rw_source_errors ORDER BY partition, "offset"') == told
    assert client.run("SELECT job_name, bad_messages FROM rw_source_lag ORDER BY 1") == bad
    client.run("DROP MATERIALIZED VIEW v")
    client.run("DROP MATERIALIZED VIEW n")
    client.run(f"DROP {noun} s")
    server.restart()
    assert server.client().run("SELECT * FROM rw_source_errors") == []
    assert server.database._committer.rejected.kept() == []


def test_the_last_thousand_bad_messages_are_kept(server: Server, tmp_path: Path) -> None:
    """Those of an epoch that is run again, because the server died before it was committed, count once."""
    messages = tmp_path / "messages"
    write_messages(messages, [b"bad"] * 90)
    client = server.client()
    client.run(
        f"CREATE SOURCE s (id INT) WITH (connector = 'listed', path = '{messages}') FORMAT PLAIN ENCODE JSON;"
        "CREATE MATERIALIZED VIEW v AS SELECT id FROM s"
    )
    for count in range(180, 1260, 90):  # of one read, 100 are kept at most
        write_messages(messages, [b"bad"] * count)
        client.run("FLUSH")
    server.restart(EpochFailed("lost"))
    client = server.client()
    write_messages(messages, [b"bad"] * 1260)
    client.run("FLUSH")
    for _ in range(2):
        assert client.run("SELECT bad_messages FROM rw_source_lag") == [(1260,)]
        assert client.run('SELECT count(*), min("offset"), max("offset") FROM rw_source_errors') == [(1000, 260, 1259)]
        server.restart()
        client = server.client()


def test_a_payload_that_is_no_jsonb_is_null(server: Server, tmp_path: Path) -> None:
    messages = tmp_path / "messages"
    write_messages(
        messages,
        [GOOD, NUL, b'{"id": 9}'],
        headers=[[{"key": "h", "value": b"\xff"}], None, [{"key": "h", "value": b"v"}]],
    )
    client = server.client()
    client.run(
        "CREATE SOURCE s (id INT) INCLUDE payload AS p INCLUDE header 'h' varchar AS h"
        f" WITH (connector = 'listed', path = '{messages}') FORMAT PLAIN ENCODE JSON;"
        "CREATE MATERIALIZED VIEW v AS SELECT id, p IS NULL AS lacks, h FROM s"
    )
    assert client.run("SELECT * FROM v ORDER BY id") == [(7, False, None), (8, True, None), (9, False, "v")]
    assert client.run("SELECT * FROM rw_source_errors") == []


def test_a_defect_of_a_decoder_costs_its_message_only(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from risingpy.connectors.formats.json_reader import JsonReader

    read = JsonReader.read

    def faulty(self: Any, payloads: Any, *given: Any) -> Any:
        if b"13" in payloads.to_pylist():
            raise ZeroDivisionError("a defect")
        return read(self, payloads, *given)

    monkeypatch.setattr(JsonReader, "read", faulty)
    messages = tmp_path / "messages"
    payloads: list[bytes | None] = [b'{"id": %d}' % k for k in range(100)]
    payloads[13] = payloads[77] = b"13"
    write_messages(messages, payloads)
    client = server.client()
    client.run(
        f"CREATE SOURCE s (id INT) INCLUDE offset AS o WITH (connector = 'listed', path = '{messages}')"
        " FORMAT PLAIN ENCODE JSON; CREATE MATERIALIZED VIEW v AS SELECT id, o FROM s"
    )
    assert client.run("SELECT id, o FROM v ORDER BY id") == [(k, str(k)) for k in range(100) if k not in (13, 77)]
    told = client.run('SELECT "offset", reason FROM rw_source_errors ORDER BY 1')
    assert [(str(place), "ZeroDivisionError: a defect" in reason) for place, reason in told] == [
        ("13", True),
        ("77", True),
    ]
