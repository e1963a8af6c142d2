"""Databases that read files, and an S3."""

from __future__ import annotations

from tests.connectors.systems.s3 import s3_server
from tests.meta.conftest import server

__all__ = ["s3_server", "server"]
