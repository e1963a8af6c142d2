"""A grid: a named list of argument values of one type."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """Values, as literals of the SQL type `type`; None is NULL."""

    type: str
    values: tuple[str | None, ...]


def grid(type_: str, *values: str | None) -> Grid:
    return Grid(type_, (*values, None))
