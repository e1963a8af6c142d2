"""The PostgreSQL that gives the fourth answer."""

from __future__ import annotations

from tests.postgres_oracle import postgres_oracle

__all__ = ["postgres_oracle"]
