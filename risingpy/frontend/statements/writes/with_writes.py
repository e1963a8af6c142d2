"""Statements whose WITH has INSERT, UPDATE or DELETE: `WITH gone AS (DELETE … RETURNING *) SELECT … FROM gone`.

As in PostgreSQL, all parts read what was there before the statement, whatever the others write; what a part returns is
all that the others see of it. Each part runs once, and to its end, also if nothing reads its rows. The whole of it is
one step: without a transaction it has one of its own. An item that is computed once is a part, too.

The parts run one after the other: those that the statement reads before it, in the order of the text, and the others
after it (`part_order`). Each part is bound with those before it in the text as common table expressions, of which the
ones that write are rows with a name (GivenRows).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from risingpy.batch import StatementReads
from risingpy.errors import SqlError
from risingpy.frontend.binder.query.written_rows import written_rows
from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.binder.typing.parameters import PartTypes
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import Delete, Insert, Merge, Query, Select, Update
from risingpy.frontend.parser.dml.within import WriteInWith
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.describe import named_relation
from risingpy.frontend.statements.transactions.one_transaction import in_transaction
from risingpy.frontend.statements.writes.part_order import run_last
from risingpy.frontend.statements.writes.parts import parts_of_one
from risingpy.frontend.statements.writes.returned_subqueries import with_read_items
from risingpy.frontend.statements.writes.volatile_items import volatile_items
from risingpy.frontend.written_rows import check_writable
from risingpy.plan.catalog import Table
from risingpy.plan.logical import Field, GivenRows
from risingpy.types import SqlType, TypeKind

Whole = Select | Insert | Update | Delete | Merge
BindPart = Callable[[Whole, Sequence[SqlType]], Command]


@dataclass(frozen=True, slots=True)
class _WrittenPart:
    """A statement of the WITH: what runs it, and how its rows are called; None without RETURNING."""

    name: str
    statement: Select | Insert | Update | Delete
    command: Command
    rows: GivenRows | None

    def run(self, reads: StatementReads, parameters: Parameters) -> CommandTag:
        result = self.command.run(parameters)
        if self.rows is not None:
            reads.rows[self.rows.name] = _rows(result, self.rows)
        return result.tag


def has_parts(session: StatementContext, statement: object) -> bool:
    """Whether something in the statement's own WITH runs before the statement: it writes, or is computed once."""
    return has_writes(statement) or bool(volatile_items(session, statement))


def has_writes(statement: object) -> bool:
    """Whether the statement's own WITH has one that writes."""
    with_ = _with_of(statement)
    return with_ is not None and any(isinstance(each.this, WriteInWith) for each in with_.expressions)


def bind(
    session: StatementContext,
    statement: Whole,
    parameter_types: Sequence[SqlType],
    bind_part: BindPart,
    tag_of: str | None = None,
) -> Command:
    """`bind_part` binds a statement without such a WITH. Raises 0A000 where PostgreSQL does.

    The tag is the statement's own, or that of the part called `tag_of`.
    """
    given, types = _with_of(statement), PartTypes(parameter_types)
    assert given is not None
    with_, once, writes = with_read_items(given), volatile_items(session, statement), has_writes(statement)
    known: list[exp.CTE] = []
    parts: list[_WrittenPart] = []
    for cte in with_.expressions:
        written = _part_of(cte, once)
        if written is None:
            known.append(cte)
            continue
        command = bind_part(_knowing(written, _with(with_, [*known, *_own(written)])), types)
        types = PartTypes(command.parameter_types)
        rows = None
        if command.fields is not None:
            rows = GivenRows(tuple(Field(f.name, f.type) for f in command.fields), f"written_{len(parts)}")
        parts.append(_WrittenPart(name_of(cte.args["alias"].this), written, command, rows))
        known.append(exp.CTE(this=written_rows(rows), alias=cte.args["alias"]))
    whole = bind_part(_knowing(statement, _with(with_, known)), types)
    types = PartTypes(whole.parameter_types)
    _check_known(types)
    before, after = _in_order(with_, parts, statement)
    targets = [each for each in (*(part.statement for part in parts), statement) if not isinstance(each, Select)]

    def run(parameters: Parameters) -> Result:
        if writes:
            check_writable(session, "WITH")
        with in_transaction(session) if targets else nullcontext():
            if targets:
                _lock(session, targets)
            with parts_of_one(session) as reads:
                tags = {part.name: part.run(reads, parameters) for part in before}
                result = whole.run(parameters)
                batches = None if result.batches is None else list(result.batches)
                for part in after:
                    part.run(reads, parameters)
        tag = result.tag if tag_of is None else tags[tag_of]
        return result if batches is None else replace(result, tag=tag, batches=iter(batches))

    return Command(run, whole.fields, tuple(types))


def _part_of(cte: exp.CTE, once: Collection[str]) -> Select | Insert | Update | Delete | None:
    """What an item of the WITH runs by itself; None if it takes the place of its name. `once` are computed once."""
    if isinstance(cte.this, WriteInWith):
        return cte.this.statement
    return Select(Query(cte.this, "", begin_of(cte.this))) if name_of(cte.args["alias"].this) in once else None


def _in_order(
    with_: exp.With, parts: Sequence[_WrittenPart], statement: Whole
) -> tuple[list[_WrittenPart], list[_WrittenPart]]:
    """The parts that run before the statement, and those that run after it."""
    last = run_last(with_, [part.name for part in parts], _knowing(statement, None))
    by_name = {part.name: part for part in parts}
    return [part for part in parts if part.name not in last], [by_name[name] for name in last]


def _with_of(statement: object) -> exp.With | None:
    match statement:
        case Select(query):
            with_: exp.With | None = query.tree.args.get("with_")
            return with_
        case Insert() | Update() | Delete() | Merge():
            return statement.with_
    return None


def _own(statement: Whole) -> list[exp.CTE]:
    """The common table expressions that a part has itself."""
    with_ = _with_of(statement)
    return [] if with_ is None else list(with_.expressions)


def _with(whole: exp.With, expressions: Sequence[exp.CTE]) -> exp.With | None:
    """A WITH of some of the expressions, as recursive as the whole one. The expressions stay where they are, too."""
    if not expressions:
        return None
    made = exp.With(recursive=whole.args.get("recursive"))
    made.args["expressions"] = list(expressions)  # without `set`, which would take them out of their tree
    return made


def _knowing(statement: Whole, with_: exp.With | None) -> Whole:
    """The statement with another WITH."""
    if not isinstance(statement, Select):
        return replace(statement, with_=with_)
    tree = statement.query.tree.copy()
    tree.set("with_", with_)
    return Select(Query(tree, statement.query.text, statement.query.position))


def _check_known(types: Sequence[SqlType]) -> None:
    for index, type_ in enumerate(types, 1):
        if type_.kind is TypeKind.UNKNOWN:
            raise SqlError(f"could not determine data type of parameter ${index}", sqlstate="42P18")


def _lock(session: StatementContext, statements: Sequence[Whole]) -> None:
    """Locks the tables whose rows are rewritten, before all parts read the same state; waits until that has all rows.

    In the order of their ids, so that two such statements do not wait for each other.
    """
    rewritten = set()
    for each in statements:
        if isinstance(each, Update | Delete | Merge) or (isinstance(each, Insert) and each.on_conflict is not None):
            table = named_relation(session, each.table)
            if isinstance(table, Table):
                rewritten.add(table.relation_id)
    for table_id in sorted(rewritten):
        session.transaction.hold(table_id, session.cancelled)
    session.database.reads.wait_for_lsn(session.database.writes.last_lsn, session.cancelled)


def _rows(result: Result, given: GivenRows) -> pa.Table:
    schema = pa.schema([pa.field(f"c{i}", field.type.arrow) for i, field in enumerate(given.schema)])
    batches = [] if result.batches is None else [each.rename_columns(schema.names) for each in result.batches]
    return pa.Table.from_batches(batches, schema) if batches else schema.empty_table()
