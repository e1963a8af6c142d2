"""Sinks to files, and to objects of a real S3 server."""

from __future__ import annotations

import csv
import json
import os
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets import files
from risingpy.connectors.targets.files import FileTarget
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import (
    FeatureNotSupported,
    InvalidParameterValue,
    IoError,
    NumericValueOutOfRange,
    TargetUnavailable,
    UndefinedTable,
)
from risingpy.types import BIGINT, INTERVAL, JSONB, NUMERIC, TIME, UUID, VARCHAR, array_of, map_of
from tests.connectors.systems.s3 import S3Server
from tests.connectors.targets.changes import changes_of
from tests.connectors.targets.killed import kill_everywhere

COLUMNS = (("id", BIGINT), ("name", VARCHAR))
SCHEMA = SinkSchema("s", COLUMNS, (), SinkType.APPEND_ONLY)
RETRACT = SinkSchema("s", COLUMNS, (0,), SinkType.RETRACT)
JSON, CSV, PARQUET = (MessageFormat("plain", encoding) for encoding in ("json", "csv", "parquet"))


def options_of(path: Path) -> dict[str, str]:
    return {"connector": "fs", "fs.path": str(path)}


def test_a_file_for_each_epoch(tmp_path: Path) -> None:
    target = FileTarget(options_of(tmp_path / "new" / "dir"), SCHEMA)
    target.check()
    assert target.open() is None
    target.deliver(7, [changes_of(SCHEMA, [(1, ["1", "a"])]), changes_of(SCHEMA, [(1, ["2", None])])])
    target.deliver(8, [changes_of(SCHEMA, [])])
    target.deliver(7, [changes_of(SCHEMA, [(1, ["1", "again"])])])
    [path] = (tmp_path / "new" / "dir").iterdir()
    assert path.name == "s.00000000000000000007.parquet"
    assert pq.read_table(path).to_pylist() == [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
    assert FileTarget(options_of(tmp_path / "new" / "dir"), SCHEMA).open() == 7


def test_two_sinks_share_a_directory(tmp_path: Path) -> None:
    names = ["s", "s.t", "../s", "é"]
    for epoch, name in enumerate(names, start=1):
        schema = SinkSchema(name, COLUMNS, (), SinkType.APPEND_ONLY)
        FileTarget(options_of(tmp_path), schema, JSON).deliver(epoch, [changes_of(schema, [(1, ["1", name])])])
    for epoch, name in enumerate(names, start=1):
        assert (
            FileTarget(options_of(tmp_path), SinkSchema(name, COLUMNS, (), SinkType.APPEND_ONLY), JSON).open() == epoch
        )
    assert len(list(tmp_path.iterdir())) == 4


def test_json_and_csv(tmp_path: Path) -> None:
    changes = [changes_of(SCHEMA, [(1, ["1", 'a"\n;']), (1, ["2", None])])]
    FileTarget(options_of(tmp_path), SCHEMA, JSON).deliver(1, changes)
    FileTarget(options_of(tmp_path), SCHEMA, MessageFormat("plain", "csv", (("delimiter", ";"),))).deliver(1, changes)
    bare = MessageFormat("plain", "csv", (("without_header", "true"),))
    FileTarget(options_of(tmp_path), SCHEMA, bare).deliver(2, changes)
    one, two = (tmp_path / f"s.{epoch:020d}.csv" for epoch in (1, 2))
    with one.open(newline="") as file:
        assert list(csv.reader(file, delimiter=";")) == [["id", "name"], ["1", 'a"\n;'], ["2", ""]]
    assert two.read_text() == '1,"a""\n;"\n2,\n'
    lines = (tmp_path / "s.00000000000000000001.json").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"id": 1, "name": 'a"\n;'}, {"id": 2, "name": None}]


@pytest.mark.parametrize("format_", [JSON, CSV, PARQUET], ids=lambda format_: format_.encoding)
def test_retract_has_deletes_as_rows(tmp_path: Path, format_: MessageFormat) -> None:
    FileTarget(options_of(tmp_path), RETRACT, format_).deliver(
        1, [changes_of(RETRACT, [(-1, ["1", "a"]), (1, ["1", "b"])])]
    )
    [path] = tmp_path.iterdir()
    if format_ is PARQUET:
        rows = [tuple(row.values()) for row in pq.read_table(path).to_pylist()]
    elif format_ is JSON:
        rows = [tuple(json.loads(line).values()) for line in path.read_text().splitlines()]
    else:
        rows = [(int(op), int(n), name) for op, n, name in csv.reader(path.read_text().splitlines()[1:])]
    assert rows == [(-1, 1, "a"), (1, 1, "b")]


def test_types_that_parquet_does_not_have(tmp_path: Path) -> None:
    columns = (
        ("n", NUMERIC),
        ("i", INTERVAL),
        ("j", JSONB),
        ("u", UUID),
        ("t", TIME),
        ("a", array_of(UUID)),
        ("m", map_of(BIGINT, NUMERIC)),
    )
    schema = SinkSchema("s", columns, (), SinkType.APPEND_ONLY)
    uid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    row = ["-1.23456789015", "1 day", '{"a": 1}', uid, "01:02:03", f"{{{uid}}}", None]
    target = FileTarget(options_of(tmp_path), schema)
    target.deliver(1, [changes_of(schema, [(1, row), (1, [None] * 7)])])
    first, second = pq.read_table(next(tmp_path.iterdir())).to_pylist()
    assert str(first.pop("n")) == "-1.2345678902"
    assert first.pop("t").isoformat() == "01:02:03"
    assert first == {"i": "1 day", "j": '{"a": 1}', "u": uid, "a": [uid], "m": None}
    assert set(second.values()) == {None}
    with pytest.raises(NumericValueOutOfRange):
        target.deliver(2, [changes_of(schema, [(1, ["1" + "0" * 28, *[None] * 6])])])


def epoch_rows(epoch: int, schema: SinkSchema = SCHEMA) -> list[Any]:
    return [changes_of(schema, [(1, [str(epoch), f"row {n}"]) for n in range(3)])]


def test_kills_between_all_steps(tmp_path: Path) -> None:
    def check(epoch: int) -> None:
        rows = [row for path in sorted(tmp_path.glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
        assert rows == [{"id": past, "name": f"row {n}"} for past in range(1, epoch + 1) for n in range(3)]

    assert kill_everywhere(partial(FileTarget, options_of(tmp_path), SCHEMA), epoch_rows, check) > 10


def test_options_and_formats_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterValue, match='unknown option "colour" of the fs sink'):
        FileTarget({**options_of(tmp_path), "colour": "red"}, SCHEMA)
    with pytest.raises(FeatureNotSupported, match="cannot be of type upsert"):
        FileTarget(options_of(tmp_path), SinkSchema("s", COLUMNS, (0,), SinkType.UPSERT))
    with pytest.raises(FeatureNotSupported, match="ENCODE AVRO"):
        FileTarget(options_of(tmp_path), SCHEMA, MessageFormat("plain", "avro"))
    with pytest.raises(InvalidParameterValue, match='"op"'):
        FileTarget(options_of(tmp_path), SinkSchema("s", (("op", BIGINT),), (0,), SinkType.RETRACT))


def test_a_full_disk_may_get_room_and_a_file_is_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    target = FileTarget(options_of(tmp_path / "file" / "below"), SCHEMA)
    for attempt in (target.check, target.open):
        with pytest.raises(IoError, match="Not a directory") as raised:
            attempt()
        assert not isinstance(raised.value, TargetUnavailable)
    full = FileTarget(options_of(tmp_path), SCHEMA)
    os.symlink("/dev/full", tmp_path / ".s.00000000000000000001.parquet.unfinished")
    with pytest.raises(IoError, match="Too many levels of symbolic links"):  # a link may lead anywhere
        full.deliver(1, epoch_rows(1))
    monkeypatch.setattr(files, "_no_link", lambda path, flags: os.open(path, flags))
    with pytest.raises(TargetUnavailable, match="No space left"):
        full.deliver(1, epoch_rows(1))


@pytest.fixture
def bucket(s3_server: S3Server) -> tuple[Any, dict[str, str]]:
    """A client of a new bucket, and the options of a sink to it."""
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed: make test-connectors installs it")
    name = "b" + uuid.uuid4().hex[:10]
    credentials = {"aws_access_key_id": "someone", "aws_secret_access_key": "hunter2"}
    client = boto3.client("s3", endpoint_url=s3_server.url, region_name="us-east-1", **credentials)
    client.create_bucket(Bucket=name)
    options = {
        "connector": "s3",
        "s3.bucket_name": name,
        "s3.region_name": "us-east-1",
        "s3.path": "a/b",
        "s3.endpoint_url": s3_server.url,
        "s3.credentials.access": "someone",
        "s3.credentials.secret": "hunter2",
    }
    return client, options


def objects_of(client: Any, name: str) -> dict[str, str]:
    found = client.list_objects_v2(Bucket=name).get("Contents", ())
    return {o["Key"]: client.get_object(Bucket=name, Key=o["Key"])["Body"].read().decode() for o in found}


@pytest.fixture
def s3_target() -> Callable[..., Any]:
    pytest.importorskip("boto3", reason="boto3 is not installed: make test-connectors installs it")
    from risingpy.connectors.targets.object_storage import ObjectStorageTarget

    return ObjectStorageTarget


def test_objects(bucket: tuple[Any, dict[str, str]], s3_target: Callable[..., Any]) -> None:
    client, options = bucket
    target = s3_target(options, SCHEMA, JSON)
    target.check()
    assert target.open() is None
    target.deliver(3, [changes_of(SCHEMA, [(1, ["1", "a"])])])
    target.deliver(3, [changes_of(SCHEMA, [(1, ["1", "again"])])])
    target.deliver(4, [])
    target.close()
    assert objects_of(client, options["s3.bucket_name"]) == {"a/b/s.00000000000000000003.json": '{"id":1,"name":"a"}\n'}
    assert s3_target(options, SCHEMA, JSON).open() == 3


def test_kills_between_all_steps_of_a_put(bucket: tuple[Any, dict[str, str]], s3_target: Callable[..., Any]) -> None:
    client, options = bucket

    def check(epoch: int) -> None:
        lines = "".join(objects_of(client, options["s3.bucket_name"]).values()).splitlines()
        assert [json.loads(line)["id"] for line in lines] == [n for n in range(1, epoch + 1) for _ in range(3)]

    assert kill_everywhere(partial(s3_target, options, SCHEMA, JSON), epoch_rows, check) > 5


def test_errors_of_s3(bucket: tuple[Any, dict[str, str]], s3_target: Callable[..., Any]) -> None:
    _, options = bucket
    with pytest.raises(UndefinedTable, match='no bucket "nowhere"'):
        s3_target({**options, "s3.bucket_name": "nowhere"}, SCHEMA).check()
    with pytest.raises(UndefinedTable):
        s3_target({**options, "s3.bucket_name": "nowhere"}, SCHEMA).deliver(1, epoch_rows(1))
    with pytest.raises(TargetUnavailable) as raised:
        s3_target({**options, "s3.endpoint_url": "http://127.0.0.1:1"}, SCHEMA).check()
    assert "hunter2" not in raised.value.message
    with pytest.raises(InvalidParameterValue, match=r"needs the option s3\.region_name"):
        s3_target({**options, "s3.region_name": ""}, SCHEMA)
