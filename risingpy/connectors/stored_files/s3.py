"""`connector = 's3'`: objects of a bucket of S3, or of what speaks its protocol."""

from __future__ import annotations

from collections.abc import Mapping

from risingpy.connectors.s3_client import S3_OPTIONS
from risingpy.connectors.stored_files.bucket import BucketStore
from risingpy.connectors.stored_files.connector import StoredFiles, checked_options, place_of
from risingpy.connectors.stored_files.patterns import literal_prefix


class S3Connector(StoredFiles):
    """`s3.bucket_name` and how to reach it. It is listed every minute if nothing else is said: each time costs."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Raises InvalidParameterValue if an option is missing, unknown or wrong."""
        checked = checked_options("s3", options, S3_OPTIONS)
        prefix = literal_prefix(checked.text("match_pattern"))
        BucketStore(checked, prefix)
        super().__init__(place_of("s3", checked, lambda: BucketStore(checked, prefix), seconds=60))
