"""A client of S3, and its errors as ours: for the source, and for the sink."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from risingpy.connectors.targets.options import Options
from risingpy.errors import InvalidParameterValue, IoError, SqlError, UndefinedTable

S3_OPTIONS = (
    "s3.region_name",
    "s3.bucket_name",
    "s3.credentials.access",
    "s3.credentials.secret",
    "s3.endpoint_url",
)
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


def s3_client(options: Options, *, patience: int, attempts: int) -> Any:
    """A client, which waits `patience` seconds. Without credentials in the options, boto3 takes the machine's."""
    retries = {"total_max_attempts": attempts, "mode": "standard"}
    return boto3.client(
        "s3",
        region_name=options.text("s3.region_name"),
        endpoint_url=options.text("s3.endpoint_url") or None,
        aws_access_key_id=options.text("s3.credentials.access") or None,
        aws_secret_access_key=options.text("s3.credentials.secret") or None,
        config=Config(connect_timeout=patience, read_timeout=patience, retries=retries),
    )


@contextmanager
def s3_errors(options: Options, unavailable: type[IoError]) -> Iterator[None]:
    """boto3's errors as ours: `unavailable` where it may be better later."""
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        message = f"S3: {options.masked(str(error))}"
        if code in ("NoSuchBucket", "404"):
            raise UndefinedTable(f'S3 has no bucket "{options.text("s3.bucket_name")}"') from None
        if code in _PERMANENT:
            raise SqlError(message, sqlstate=_PERMANENT[code]) from None
        raise unavailable(message) from None
    except BotoCoreError as error:
        raise unavailable(f"S3: {options.masked(str(error))}") from None
    except ValueError as error:  # boto3's own for an endpoint that is no URL
        raise InvalidParameterValue(f"S3: {options.masked(str(error))}") from None
