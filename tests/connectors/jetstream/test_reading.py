"""Ranges of streams, on a real server: gaps, other subjects, where a view begins, and what goes wrong."""

from __future__ import annotations

import random
import re
import time
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from risingpy.connectors.registry import connector_of
from risingpy.connectors.seekable import MESSAGES
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SourceUnavailable, SqlError
from tests.connectors.jetstream.streams import Stream
from tests.connectors.systems.process import free_port

BASE = {"connector": "nats", "server_url": "nats://127.0.0.1:1", "stream": "s", "subject": "a"}


def test_any_cut_of_ranges_gives_the_same_messages(nats_url: str) -> None:
    stream = Stream(nats_url)
    stream.write([b"%d" % k for k in range(500)])
    chance, reader = random.Random(3), connector_of(stream.options()).message_reader()
    for _ in range(3):
        ranges = list(pairwise(sorted({1, 501, *(chance.randrange(1, 501) for _ in range(4))})))
        chance.shuffle(ranges)
        read = {start: reader.read(stream.name, start, end) for start, end in ranges}
        assert all(table.schema == MESSAGES for table in read.values())
        found = {
            n: v
            for table in read.values()
            for n, v in zip(*(table[c].to_pylist() for c in ("offset", "payload")), strict=True)
        }
        assert [found[n] for n in sorted(found)] == [b"%d" % k for k in range(500)]
        assert sorted(found) == list(range(1, 501))
    reader.close()
    assert stream.consumers() == 0


def test_large_messages_come_in_several_answers(nats_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("risingpy.connectors.jetstream.consumer._MOST_BYTES", 3_000_000)
    stream = Stream(nats_url)
    stream.write([bytes([k]) * 900_000 for k in range(10)])
    reader = connector_of(stream.options()).message_reader()
    found = reader.read(stream.name, 1, 11)["payload"].to_pylist()
    reader.close()
    assert [(value[0], len(value)) for value in found] == [(k, 900_000) for k in range(10)]


def test_other_subjects_and_deleted_messages_leave_gaps(nats_url: str) -> None:
    stream = Stream(nats_url)
    stream.write([b"a1", b"a2", b"a3"], subject="a")
    stream.write([b"b4", b"b5"], subject="b")
    stream.write([b"c6"], subject="c.d")
    stream.delete_message(2)
    subjects = f"{stream.name}.a, {stream.name}.c.>"
    connector = connector_of(stream.options(subject=subjects))
    connector.check()
    splits = connector.splits()
    end = splits.ends()[stream.name]
    assert (end.first, end.end, end.start) == (1, 7, 1)
    reader = connector.message_reader()
    assert reader.read(stream.name, 1, 7)["payload"].to_pylist() == [b"a1", b"a3", b"c6"]
    assert reader.read(stream.name, 2, 6)["payload"].to_pylist() == [b"a3"]
    assert reader.read(stream.name, 4, 6).num_rows == 0
    stream.purge(4)
    assert splits.ends()[stream.name].first == 4
    reader.close()
    splits.close()


def test_parts_of_a_message(nats_url: str) -> None:
    stream, before = Stream(nats_url), datetime.now(UTC)
    stream.write([b"v"], headers={"h": "é", "Status": "408"})
    stream.write([b""])
    reader = connector_of(stream.options()).message_reader()
    rows = reader.read(stream.name, 1, 3).to_pylist()
    reader.close()
    headers = [{"key": "h", "value": "é".encode()}, {"key": "Status", "value": b"408"}]
    assert [(row["key"], row["payload"], row["headers"]) for row in rows] == [(None, b"v", headers), (None, b"", None)]
    assert all(before.replace(microsecond=0) <= row["timestamp"] <= datetime.now(UTC) for row in rows)


@pytest.mark.parametrize("mode", ["earliest", "latest", "timestamp", "none yet"])
def test_where_a_view_begins(nats_url: str, mode: str) -> None:
    stream = Stream(nats_url)
    stream.write([b"a", b"b"])
    time.sleep(0.05)
    since = int(time.time() * 1000) + (3_600_000 if mode == "none yet" else 0)
    time.sleep(0.05)
    stream.write([b"c"])
    more = (
        {"scan__startup__timestamp__millis": str(since)}
        if mode in ("timestamp", "none yet")
        else {"scan__startup__mode": mode}
    )
    splits = connector_of(stream.options(**more)).splits()
    start = splits.ends()[stream.name].start
    splits.close()
    assert start == {"earliest": 1, "latest": 4, "timestamp": 3, "none yet": 4}[mode]


def test_check_says_what_is_wrong(nats_url: str) -> None:
    stream = Stream(nats_url)
    connector_of(stream.options(consumer__durable_name="mine")).check()
    with pytest.raises(InvalidParameterValue, match='NATS has no stream "nosuch"'):
        connector_of(stream.options(stream="nosuch")).check()
    with pytest.raises(SqlError, match="NATS: "):
        connector_of(stream.options(subject="a..b")).check()
    began = time.monotonic()
    with pytest.raises(SourceUnavailable, match="NATS: ") as error:
        connector_of(stream.options(server_url=f"nats://127.0.0.1:{free_port()}")).check()
    assert error.value.sqlstate == "HV00N"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("retention", ["workqueue", "interest"])
def test_a_stream_that_deletes_what_was_acknowledged(nats_url: str, retention: str) -> None:
    with pytest.raises(InvalidParameterValue, match="deletes messages that its consumers have acknowledged") as error:
        connector_of(Stream(nats_url, retention).options()).check()
    assert f"Its retention is {retention}." in str(error.value.hint)


def test_a_stream_that_is_gone_is_waited_for(nats_url: str) -> None:
    stream = Stream(nats_url)
    stream.write([b"a"])
    connector = connector_of(stream.options())
    splits, reader = connector.splits(), connector.message_reader()
    stream.delete()
    with pytest.raises(SourceUnavailable, match="has no stream"):
        splits.ends()
    with pytest.raises(SourceUnavailable, match="stream not found"):
        reader.read(stream.name, 1, 2)
    stream.make()
    stream.write([b"b"])
    assert splits.ends()[stream.name].end == 2
    assert reader.read(stream.name, 1, 2)["payload"].to_pylist() == [b"b"]
    reader.close()
    splits.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stream": ""}, "the nats connector needs the option stream"),
        ({"subject": ""}, "the nats connector needs the option subject"),
        ({"topic": "x"}, 'unknown option "topic" of the nats connector'),
        ({"connect_mode": "loud"}, 'invalid value "loud" of the option connect_mode'),
        ({"connect_mode": "user_and_password"}, "the nats connector needs the option username"),
        ({"scan.startup.mode": "newest"}, 'invalid value "newest" of the option scan.startup.mode'),
        ({"scan.startup.mode": "timestamp"}, "scan.startup.mode timestamp needs scan.startup.timestamp.millis"),
        ({"scan.startup.timestamp.millis": "x"}, 'invalid scan.startup.timestamp.millis "x"'),
    ],
)
def test_options_that_are_refused(options: dict[str, str], message: str) -> None:
    pytest.importorskip("nats", reason="nats-py is not installed")
    with pytest.raises(InvalidParameterValue, match=re.escape(message)):
        connector_of(BASE | options)
    with pytest.raises(FeatureNotSupported, match="connect_mode credential is not supported"):
        connector_of({**BASE, "connect_mode": "credential"})
