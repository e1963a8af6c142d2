"""Databases that read generators."""

from __future__ import annotations

from tests.meta.conftest import server

__all__ = ["server"]
