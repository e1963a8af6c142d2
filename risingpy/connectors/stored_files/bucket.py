"""The objects of a bucket of S3: `connector = 's3'`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError

from risingpy.connectors.s3_client import s3_client, s3_errors
from risingpy.connectors.stored_files.store import StoredFile
from risingpy.connectors.targets.options import Options
from risingpy.errors import SourceUnavailable, SqlError

_RANGE_BEYOND_END = ("InvalidRange", "416")


class BucketStore:
    """Names are the objects' keys. The client is made when it is first needed, in the process that uses it."""

    def __init__(self, options: Options, prefix: str) -> None:
        """Only keys that begin with `prefix` are listed. Raises InvalidParameterValue for missing options."""
        self._options = options
        self._bucket = options.required("s3.bucket_name")
        options.required("s3.region_name")
        self._prefix = prefix
        self._client: Any = None  # boto3 makes its classes at run time

    def check(self) -> None:
        with s3_errors(self._options, SourceUnavailable):
            client = s3_client(self._options, patience=2, attempts=1)
            client.list_objects_v2(Bucket=self._bucket, Prefix=self._prefix, MaxKeys=1)
            client.close()

    def files(self) -> Iterable[StoredFile]:
        with s3_errors(self._options, SourceUnavailable):
            pages = (
                self._connected().get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._prefix)
            )
            return [
                StoredFile(found["Key"], found["Size"])
                for page in pages
                for found in page.get("Contents", ())
                if found["Size"] and not found["Key"].endswith("/")  # some tools mark directories so
            ]

    def read(self, name: str, start: int, end: int) -> bytes:
        if start >= end:
            return b""
        with self._reading(name):
            try:
                found = self._connected().get_object(Bucket=self._bucket, Key=name, Range=f"bytes={start}-{end - 1}")
            except ClientError as error:
                if error.response["Error"]["Code"] in _RANGE_BEYOND_END:
                    return b""
                raise
            content: bytes = found["Body"].read()
            return content

    def size(self, name: str) -> int:
        with self._reading(name):
            return int(self._connected().head_object(Bucket=self._bucket, Key=name)["ContentLength"])

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """A task cannot do more than to leave the source out for a while, whatever is wrong with an object."""
        try:
            with s3_errors(self._options, SourceUnavailable):
                yield
        except SqlError as error:
            raise SourceUnavailable(f'could not read source file "{name}": {error}') from None

    def _connected(self) -> Any:
        if self._client is None:
            self._client = s3_client(self._options, patience=30, attempts=3)
        return self._client
