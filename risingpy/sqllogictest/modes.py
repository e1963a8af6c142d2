"""The ways to ask a file's questions. They must all give the answers that the file expects."""

from __future__ import annotations

from enum import Enum


class Mode(Enum):
    """Who answers a query: a SELECT, a view made before the data, a view made after it, PostgreSQL."""

    BATCH = "batch"
    STREAM = "stream"
    BACKFILL = "backfill"
    ORACLE = "oracle"

    @property
    def engine(self) -> str:
        """The label that `skipif` and `onlyif` know the database by."""
        return "postgresql" if self is Mode.ORACLE else "risingpy"

    @property
    def labels(self) -> frozenset[str]:
        # sqllogictest-rs's name for PostgreSQL is the short one: files from elsewhere say that.
        return frozenset({self.engine, self.value, *(["postgres"] if self is Mode.ORACLE else [])})
