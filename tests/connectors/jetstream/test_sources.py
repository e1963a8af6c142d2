"""Views of streams: every message once, through restarts, kill -9 and a server that goes and comes back."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path

import pytest

from risingpy.errors import SqlError
from risingpy.server_process import ServerProcess
from tests.connectors.jetstream.streams import Stream
from tests.connectors.stored_files.files import until
from tests.connectors.systems.brokers import directory_of, program
from tests.connectors.systems.process import free_port, running
from tests.meta.conftest import Server

QUERY = "SELECT grp, count(*) AS n, sum(v) AS total FROM {} GROUP BY grp"


@pytest.mark.on_spark
def test_three_answers_agree(server: Server, nats_url: str) -> None:
    """A view before the messages, one after them, and the query over a table that was given the same rows."""
    pytest.importorskip("nats", reason="nats-py is not installed")
    chance, stream, client = random.Random(7), Stream(nats_url), server.client()
    columns = "(id BIGINT, grp INT, v INT)"
    client.run(stream.source(columns) + f"; CREATE MATERIALIZED VIEW before AS {QUERY.format('s')}")
    client.run("CREATE TABLE t (id BIGINT, grp INT, v INT)")
    client.run(stream.source("(id BIGINT PRIMARY KEY, grp INT, v INT)", kind="TABLE keyed"))
    for batch in range(3):
        rows = [{"id": batch * 1000 + k, "grp": chance.randrange(5), "v": k} for k in range(1_500)]
        stream.write([json.dumps(row).encode() for row in rows])
        client.run("INSERT INTO t VALUES " + ", ".join(str(tuple(row.values())) for row in rows))
        client.run("FLUSH")
        if batch == 1:
            server.restart()
            client = server.client()
    client.run(f"CREATE MATERIALIZED VIEW after AS {QUERY.format('s')}; FLUSH")
    expected = sorted(client.run(QUERY.format("t")))
    assert sorted(client.run("SELECT * FROM before")) == expected
    assert sorted(client.run("SELECT * FROM after")) == expected
    assert client.run("SELECT count(*) FROM keyed") == client.run("SELECT count(DISTINCT id) FROM t")
    assert client.run("SELECT sum(lag) FROM rw_source_lag") == [(0,)]


def test_encodings_and_included_columns(server: Server, nats_url: str, tmp_path: Path) -> None:
    stream, client = Stream(nats_url), server.client()
    stream.write([b'{"v": 1}', b"nope"], headers={"trace": "t"})
    included = "INCLUDE partition AS p INCLUDE offset AS o INCLUDE header 'trace' varchar AS trace INCLUDE subject"
    client.run(stream.source(f"(v INT) {included}") + "; CREATE MATERIALIZED VIEW m AS SELECT * FROM s")
    [(v, offset, trace, partition, subject)] = client.run("FLUSH; SELECT v, o, trace, p, _rw_nats_subject FROM m")
    assert (v, offset, trace, partition, subject) == (1, "1", "t", stream.name, f"{stream.name}.a")
    assert client.run('SELECT "offset", reason FROM rw_source_errors') == [(2, "invalid JSON")]
    client.run(stream.source("(b BYTEA)", "BYTES", kind="TABLE b"))
    assert client.run("FLUSH; SELECT count(*), min(length(b)) FROM b") == [(2, 4)]


def test_protobuf(server: Server, nats_url: str, tmp_path: Path) -> None:
    descriptors = pytest.importorskip("google.protobuf.descriptor_pb2", reason="protobuf is not installed")
    stream, client = Stream(nats_url), server.client()
    row = {"name": "Row", "field": [{"name": "id", "number": 1, "type": 3}, {"name": "name", "number": 2, "type": 9}]}
    described = descriptors.FileDescriptorSet(file=[{"name": "row.proto", "syntax": "proto3", "message_type": [row]}])
    (tmp_path / "row.bin").write_bytes(described.SerializeToString())
    encoding = f"PROTOBUF (schema.location = 'file://{tmp_path}/row.bin', message = 'Row')"
    client.run(stream.source("(*)", encoding) + "; CREATE MATERIALIZED VIEW m AS SELECT * FROM s")
    stream.write([b"\x08\x07\x12\x01x"])
    assert client.run("FLUSH; SELECT * FROM m") == [(7, "x")]


def test_the_server_goes_and_comes_back(server: Server) -> None:
    """Views stand still and say why; what else there is goes on; then they go on where they were."""
    command, port, client = program("nats-server", "make test-connectors installs it"), free_port(), server.client()
    pytest.importorskip("nats", reason="nats-py is not installed")
    with directory_of("nats") as directory:
        options = [command, "-js", "-sd", str(directory / "data"), "-a", "127.0.0.1", "-p", str(port)]
        with running(options, port, directory / "log") as process:
            stream = Stream(f"nats://127.0.0.1:{port}")
            stream.write([b'{"v": 1}'])
            client.run(stream.source("(v INT)") + "; CREATE MATERIALIZED VIEW m AS SELECT sum(v) AS total FROM s")
            assert client.run("FLUSH; SELECT * FROM m") == [(1,)]
            process.terminate()
            process.wait(20)
        until(lambda: client.run("SELECT failure LIKE 'NATS: %' FROM rw_source_lag") == [(True,)])
        client.run("CREATE TABLE other (v INT); INSERT INTO other VALUES (1); FLUSH")
        with pytest.raises(SqlError) as error:
            client.run(stream.source("(v INT)", kind="SOURCE second"))
        assert error.value.sqlstate == "HV00N"
        with running(options, port, directory / "log"):
            stream.write([b'{"v": 10}'])
            until(lambda: client.run("SELECT * FROM m") == [(11,)], seconds=60)
            until(lambda: client.run("SELECT failure FROM rw_source_lag") == [(None,)], seconds=60)


def test_kills_lose_and_repeat_nothing(tmp_path: Path, nats_url: str) -> None:
    pytest.importorskip("nats", reason="nats-py is not installed")
    stream, chance, data_dir = Stream(nats_url), random.Random(1), tmp_path / "data"
    written, stopping = [0], threading.Event()

    def write() -> None:
        while not stopping.is_set():
            first = written[0]
            stream.write([b'{"id": %d}' % k for k in range(first, first + 300)])
            written[0] += 300

    writer = threading.Thread(target=write, daemon=True)
    for number in range(3):
        server = ServerProcess(data_dir)
        if number == 0:
            with server.connect() as connection:
                connection.execute(stream.source("(id BIGINT)", kind="TABLE t"))
            writer.start()
        if number % 2:  # in the other rounds the server runs epochs itself
            server.wait_for_spark()
        time.sleep(chance.uniform(0.2, 2.0))
        server.kill()
    stopping.set()
    writer.join(30)
    server = ServerProcess(data_dir)
    with server.connect() as connection:
        connection.execute("FLUSH")
        total = written[0]
        found = connection.execute("SELECT count(*), count(DISTINCT id), sum(id) FROM t").fetchall()
        assert found == [(total, total, total * (total - 1) // 2)]
    assert server.stop() == 0
