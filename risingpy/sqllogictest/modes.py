"""The ways to run a file. All of them must give the answers that the file expects."""

from __future__ import annotations

from enum import Enum


class Mode(Enum):
    """What answers a query: a SELECT, a view made before the data, a view made after it, or PostgreSQL."""

    BATCH = "batch"
    STREAM = "stream"
    BACKFILL = "backfill"
    ORACLE = "oracle"

    @property
    def engine(self) -> str:
        """The database's label in `skipif` and `onlyif`."""
        return "postgresql" if self is Mode.ORACLE else "risingpy"

    @property
    def labels(self) -> frozenset[str]:
        # sqllogictest-rs's name for PostgreSQL is the short one: files from elsewhere say that.
        return frozenset({self.engine, self.value, *(["postgres"] if self is Mode.ORACLE else [])})
