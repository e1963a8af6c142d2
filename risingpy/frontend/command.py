"""A bound statement: its parameters, its result columns, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from risingpy.batch import Parameters as Parameters
from risingpy.batch import PreparedQuery, RowRewrite
from risingpy.frontend.results import CommandTag, Result, ResultField
from risingpy.meta.schema.demands import Demand
from risingpy.plan.catalog import Table
from risingpy.plan.expressions import Expr
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class Repeated:
    """Runs a command for each of some parameters as one write, in an open transaction; for at most so many at once.

    `run` gives the tag of each. None, or a SqlError, if it cannot be done so: then nothing has changed.
    """

    run: Callable[[Sequence[Parameters]], CommandTag | None]
    most: int


@dataclass(frozen=True, slots=True)
class PlainQuery:
    """What a command does that only answers a query: the query, and the relations that it names."""

    query: PreparedQuery
    dependencies: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlainInsert:
    """What a command does that only adds constant rows to a table: the query of its visible columns, and the table.

    `run_rows` adds those of several executions, with these parameters, as one statement.
    """

    query: PreparedQuery
    relation: Table
    run_rows: Callable[[Sequence[Parameters]], Result | None]


@dataclass(frozen=True, slots=True)
class PlainUpsert:
    """What an INSERT of constant rows does that meets rows by the primary key alone, and gives no rows.

    `new` are the columns of the row that stands, after DO UPDATE, over its columns and then those of the new row; None
    for DO NOTHING.
    """

    query: PreparedQuery
    relation: Table
    new: tuple[Expr, ...] | None


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
    `plain`, `inserts`, `changes`, `upserts` and `repeated` are for those that may be answered by other means: see
    `session/short_reads.py`, `session/short_writes.py` and `session/repeated_writes.py`.
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
    upserts: PlainUpsert | None = None
    repeated: Repeated | None = None
