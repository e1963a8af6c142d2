"""Objects of a real S3 server: ranges of them, and a server that goes."""

from __future__ import annotations

import gzip
import uuid
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.registry import connector_of
from risingpy.errors import InvalidParameterValue, SourceUnavailable, UndefinedTable
from tests.connectors.systems.s3 import S3Server
from tests.meta.conftest import Server

JSON, PARQUET = MessageFormat("plain", "json"), MessageFormat("plain", "parquet")


class Bucket:
    """A new bucket."""

    def __init__(self, server: S3Server) -> None:
        import boto3

        self.name = f"b{uuid.uuid4().hex}"
        self.url = server.url
        self._client: Any = boto3.client(
            "s3", region_name="us-east-1", endpoint_url=server.url, aws_access_key_id="a", aws_secret_access_key="b"
        )
        self._client.create_bucket(Bucket=self.name)

    def put(self, key: str, content: bytes) -> None:
        self._client.put_object(Bucket=self.name, Key=key, Body=content)

    def delete(self, key: str) -> None:
        self._client.delete_object(Bucket=self.name, Key=key)

    def options(self, pattern: str = "*") -> dict[str, str]:
        return {
            "connector": "s3",
            "s3.region_name": "us-east-1",
            "s3.bucket_name": self.name,
            "s3.endpoint_url": self.url,
            "s3.credentials.access": "a",
            "s3.credentials.secret": "hunter22",
            "match_pattern": pattern,
            "refresh.interval.sec": "1",
        }

    def source(self, columns: str, encoding: str, pattern: str = "*") -> str:
        options = ", ".join(f"{name} = '{value}'" for name, value in self.options(pattern).items())
        return f"CREATE SOURCE s {columns} WITH ({options}) FORMAT PLAIN ENCODE {encoding}"


@pytest.fixture
def bucket(s3_server: S3Server) -> Bucket:
    return Bucket(s3_server)


def test_objects_are_found_by_pattern_and_read_in_ranges(bucket: Bucket) -> None:
    for key in ("in/a.json", "in/deep/b.json", "in/c.txt", "out/d.json"):
        bucket.put(key, b'{"v": 1}\n{"v": 2}\n')
    bucket.put("in/empty.json", b"")
    bucket.put("in/", b"")
    connector = connector_of(bucket.options("in/*.json"), JSON)
    connector.check()
    ends = connector.splits().ends()
    assert {key: end.end for key, end in ends.items()} == {"in/a.json": 18, "in/deep/b.json": 18}
    reader = connector.message_reader()
    found = [reader.read("in/a.json", start, start + 6)["payload"].to_pylist() for start in (0, 6, 12)]
    assert found == [[b'{"v": 1}'], [b'{"v": 2}'], []]
    with pytest.raises(SourceUnavailable, match="NoSuchKey"):
        reader.read("gone", 0, 6)
    assert reader.read("in/a.json", 100, 200).num_rows == 0
    reader.close()


def test_views_of_objects(server: Server, bucket: Bucket) -> None:
    """Compressed lines, a restart, new objects, and one that is deleted and one that is replaced."""
    client = server.client()
    bucket.put("a.json", b'{"v": 1}\n')
    bucket.put("b.json.gz", gzip.compress(b'{"v": 10}\n'))
    client.run(bucket.source("(v INT) INCLUDE file AS f", "JSON") + "; CREATE MATERIALIZED VIEW m AS SELECT * FROM s")
    assert client.run("FLUSH; SELECT * FROM m ORDER BY v") == [(1, "a.json"), (10, "b.json.gz")]
    bucket.put("a.json", b'{"v": 1}\n{"v": 2}\n')
    bucket.delete("b.json.gz")
    bucket.put("c.json", b'{"v": 100}\n')
    server.restart()
    client = server.client()
    while client.run("FLUSH; SELECT sum(v) FROM m") == [(11,)]:
        pass
    assert client.run("SELECT * FROM m ORDER BY v") == [(1, "a.json"), (10, "b.json.gz"), (100, "c.json")]
    [(definition,)] = client.run("SELECT definition FROM rw_catalog.rw_sources WHERE name = 's'")
    assert "hunter22" not in definition


def test_parquet_of_objects(server: Server, bucket: Bucket) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": range(10_000), "name": ["x"] * 10_000}), sink, row_group_size=1_000)
    bucket.put("t.parquet", sink.getvalue().to_pybytes())
    client = server.client()
    client.run(bucket.source("(*)", "PARQUET") + "; CREATE MATERIALIZED VIEW m AS SELECT sum(id), max(name) FROM s")
    assert client.run("FLUSH; SELECT * FROM m") == [(49_995_000, "x")]


def test_check_says_what_is_wrong(bucket: Bucket) -> None:
    with pytest.raises(UndefinedTable, match='S3 has no bucket "nosuch"'):
        connector_of({**bucket.options(), "s3.bucket_name": "nosuch"}, JSON).check()
    for url in ("http://127.0.0.1:1", "nonsense"):
        with pytest.raises((SourceUnavailable, InvalidParameterValue)) as error:
            connector_of({**bucket.options(), "s3.endpoint_url": url}, JSON).check()
        assert error.value.sqlstate == ("22023" if url == "nonsense" else "HV00N")
        assert "hunter22" not in str(error.value)
    for name in ("s3.bucket_name", "s3.region_name"):
        with pytest.raises(InvalidParameterValue, match=f"the s3 connector needs the option {name}"):
            connector_of({**bucket.options(), name: ""}, JSON)
