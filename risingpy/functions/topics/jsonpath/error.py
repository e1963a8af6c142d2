"""The error of a jsonpath that does not fit a value."""

from __future__ import annotations

from risingpy.errors import SqlError


class PathError(SqlError):
    """A path that does not fit the value: silent calls give NULL or nothing instead, predicates are unknown."""
