"""A bound statement: its parameters, its result columns, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from risingpy.batch import Parameters as Parameters
from risingpy.batch import PreparedQuery, RowRewrite
from risingpy.frontend.results import Result, ResultField
from risingpy.meta.schema.demands import Demand
from risingpy.plan.catalog import Table
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class PlainQuery:
    """What a command does that only answers a query: the query, and the relations that it names."""

    query: PreparedQuery
    dependencies: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlainInsert:
    """What a command does that only adds constant rows to a table: the query of its visible columns, and the table."""

    query: PreparedQuery
    relation: Table


@dataclass(frozen=True, slots=True)
class PlainChange:
    """What a command does that only changes or deletes one row by its key, and gives no rows. `verb` is its tag."""

    verb: str
    rewrite: RowRewrite


@dataclass(frozen=True, slots=True)
class Command:
    """A statement that a module of `statements/` has bound.

    `run` is called once per execution, with a value per parameter. `fields` is None for a statement without rows.
    A command that `lasts` may be run again while the catalog and the settings are the same. One that `takes_constants`
    does with a value for a parameter just what it would do with a constant of that type in the parameter's place.
    `demands` are what was asked when it was bound, and is asked again of a state that it changes.
    `plain`, `inserts` and `changes` are for those that may be answered by other means than `run`: see
    `session/short_reads.py` and `session/short_writes.py`.
    """

    run: Callable[[Parameters], Result]
    fields: tuple[ResultField, ...] | None = None
    parameter_types: tuple[SqlType, ...] = ()
    lasts: bool = True
    takes_constants: bool = False
    demands: tuple[Demand, ...] = ()
    plain: PlainQuery | None = None
    inserts: PlainInsert | None = None
    changes: PlainChange | None = None
