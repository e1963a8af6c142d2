"""Sinks to objects of S3, or of what speaks its protocol: `connector = 's3'`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import boto3
import pyarrow as pa
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets.epoch_files import epoch_files
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkSchema
from risingpy.errors import SqlError, TargetUnavailable, UndefinedTable

_OPTIONS = (
    "s3.region_name",
    "s3.bucket_name",
    "s3.path",
    "s3.credentials.access",
    "s3.credentials.secret",
    "s3.endpoint_url",
)
_EXISTS = ("PreconditionFailed", "412")
_PERMANENT = {
    "NoSuchBucket": "42P01",
    "404": "42P01",
    "403": "42501",
    "AccessDenied": "42501",
    "InvalidAccessKeyId": "28000",
    "SignatureDoesNotMatch": "28000",
    "EntityTooLarge": "54000",
    "NotImplemented": "0A000",
}


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
        self._options.refuse_unknown(_OPTIONS)
        self._bucket = self._options.required("s3.bucket_name")
        path = self._options.text("s3.path").strip("/")
        self._path = f"{path}/" if path else ""
        self._options.required("s3.region_name")
        self._files = epoch_files(schema, message_format)
        self._client: Any = None  # boto3 makes its classes at run time

    def check(self) -> None:
        with self._errors():
            self._connect(patience=2, attempts=1).head_bucket(Bucket=self._bucket)

    def open(self) -> int | None:
        with self._errors():
            self._client = self._connect(patience=30, attempts=3)
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
        with self._errors():
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

    def _connect(self, *, patience: int, attempts: int) -> Any:
        """A client. Without credentials in the options, boto3 takes those of the machine."""
        retries = {"total_max_attempts": attempts, "mode": "standard"}
        return boto3.client(
            "s3",
            region_name=self._options.text("s3.region_name"),
            endpoint_url=self._options.text("s3.endpoint_url") or None,
            aws_access_key_id=self._options.text("s3.credentials.access") or None,
            aws_secret_access_key=self._options.text("s3.credentials.secret") or None,
            config=Config(connect_timeout=patience, read_timeout=patience, retries=retries),
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """boto3's errors as ours."""
        try:
            yield
        except ClientError as error:
            code = error.response["Error"]["Code"]
            message = f"S3: {self._options.masked(str(error))}"
            if code in ("NoSuchBucket", "404"):
                raise UndefinedTable(f'S3 has no bucket "{self._bucket}"') from None
            if code in _PERMANENT:
                raise SqlError(message, sqlstate=_PERMANENT[code]) from None
            raise TargetUnavailable(message) from None
        except BotoCoreError as error:
            raise TargetUnavailable(f"S3: {self._options.masked(str(error))}") from None
