"""Sinks to objects of S3, or of what speaks its protocol: `connector = 's3'`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from botocore.exceptions import ClientError

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.s3_client import S3_OPTIONS, s3_client, s3_errors
from risingpy.connectors.targets.epoch_files import epoch_files
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkSchema
from risingpy.errors import TargetUnavailable

_EXISTS = ("PreconditionFailed", "412")


class ObjectStorageTarget:
    """A `SinkTarget` that puts an object for each epoch that has rows. Exactly once.

    The object's key is the epoch's, and it is put with `If-None-Match: *`: an object is there whole or not at all, and
    S3 refuses a second one. The newest key is the last epoch. An epoch's object is made in memory, and S3 takes 5 GB.
    """

    keeps_epochs = True

    def __init__(
        self, options: Mapping[str, str], schema: SinkSchema, message_format: MessageFormat | None = None
    ) -> None:
        """Raises InvalidParameterValue or FeatureNotSupported; connects to nothing."""
        self._options = Options("the s3 sink", options)
        self._options.refuse_unknown((*S3_OPTIONS, "s3.path"))
        self._bucket = self._options.required("s3.bucket_name")
        path = self._options.text("s3.path").strip("/")
        self._path = f"{path}/" if path else ""
        self._options.required("s3.region_name")
        self._files = epoch_files(schema, message_format)
        self._client: Any = None  # boto3 makes its classes at run time

    def check(self) -> None:
        with s3_errors(self._options, TargetUnavailable):
            s3_client(self._options, patience=2, attempts=1).head_bucket(Bucket=self._bucket)

    def open(self) -> int | None:
        with s3_errors(self._options, TargetUnavailable):
            self._client = s3_client(self._options, patience=30, attempts=3)
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=self._path + self._files.prefix
            )
            epochs = [
                self._files.epoch_of(found["Key"].removeprefix(self._path))
                for page in pages
                for found in page.get("Contents", ())
            ]
        return max((epoch for epoch in epochs if epoch is not None), default=None)

    def deliver(self, epoch: int, changes: Sequence[pa.Table]) -> None:
        if self._client is None:
            self.open()
        content = self._files.content(changes)
        if content is None:
            return
        with s3_errors(self._options, TargetUnavailable):
            try:
                key = self._path + self._files.name(epoch)
                self._client.put_object(Bucket=self._bucket, Key=key, Body=bytes(content), IfNoneMatch="*")
            except ClientError as error:
                if error.response["Error"]["Code"] not in _EXISTS:
                    raise

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
