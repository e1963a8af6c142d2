"""COPY … FROM STDIN and COPY … TO STDOUT.

All rows of a COPY FROM are logged as one group after the client has sent the last one, so a COPY happens completely or
not at all. Until then, the rows of a large COPY are in a file of the log, which the group will name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa

from risingpy.errors import FeatureNotSupported, SqlError, UndefinedColumn
from risingpy.frontend.binder import CopyTarget, bind_copy_target, bind_query
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.constraints.guarded import guarded
from risingpy.frontend.copy_options import make_copy_options
from risingpy.frontend.parser import parse_query
from risingpy.frontend.parser.ast import Copy, CopyDirection, ParsedStatement, Subscribe
from risingpy.frontend.results import CommandTag, CopyIn, CopyOptions, CopyOut, Result, ResultField
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.select import result_fields, set_settings
from risingpy.frontend.statements.subscriptions.subscribe import subscribe_fields, subscribed_rows
from risingpy.frontend.written_rows import (
    check_writable,
    check_written,
    inserted,
    inserts,
    write_inserted,
    write_spilled,
)
from risingpy.meta.writing.dml_log import Spill, TableChange
from risingpy.optimizer.rules import optimize
from risingpy.plan import logical
from risingpy.plan.catalog import Table
from risingpy.plan.expressions import Expr
from risingpy.sql_quoting import double_quoted
from risingpy.types import BOOLEAN, SqlType

KEPT_BYTES = 64 << 20  # in memory, per COPY; larger groups go through a file


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Copy, parameter_types: Sequence[SqlType]
) -> Command:
    """FROM STDIN takes the client's rows and answers with their number; TO STDOUT sends a table's or a query's rows."""
    if statement.direction is CopyDirection.FROM_STDIN:
        return _bind_from(session, statement)
    return _bind_to(session, statement)


def _bind_from(session: StatementContext, statement: Copy) -> Command:
    options = make_copy_options(dict(statement.options))
    if options.force_quote != frozenset():
        raise FeatureNotSupported("COPY force quote only available using COPY TO")
    target = bind_copy_target(
        statement, session.database.reads.catalog, session.search_path(), session=session.session_values()
    )
    relation = target.relation
    fields = tuple(ResultField(relation.columns[i].name, relation.columns[i].type) for i in target.columns)
    _check_named(fields, options.force_not_null, "FORCE_NOT_NULL", relation)
    _check_named(fields, options.force_null, "FORCE_NULL", relation)

    def run(parameters: Parameters) -> Result:
        check_writable(session, "COPY FROM")
        return Result(
            CommandTag("COPY", counts_rows=True),
            copy=CopyIn(relation.name, fields, options, _TableSink(session, target)),
        )

    return Command(run)


class _TableSink:
    """Keeps up to KEPT_BYTES of the client's rows in memory, spills more to a file, and finally writes them."""

    def __init__(self, session: StatementContext, target: CopyTarget) -> None:
        self._session = session
        self._target = target
        self._batches: list[pa.Table] = []  # with all visible columns, if WHERE has looked at them
        self._kept_bytes = self._rows = self._bytes = 0
        self._spill: Spill | None = None

    def write(self, batch: pa.RecordBatch) -> int:
        rows = pa.Table.from_batches([_renamed(batch)])
        if self._target.where is not None:
            rows = self._chosen(self._visible(rows), self._target.where)
            if not rows.num_rows:
                return 0
        self._batches.append(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        check_written(self._rows, self._bytes)
        self._kept_bytes += rows.nbytes
        if self._kept_bytes > KEPT_BYTES:
            self._spill_kept()
        return int(rows.num_rows)

    def finish(self) -> None:
        relation = self._target.relation
        if self._spill is None:
            if self._batches:
                with guarded(self._session, relation):
                    write_inserted(self._session, relation, self._take_rows())
            return
        try:
            self._spill_kept()
        except BaseException:
            self.abort()
            raise
        spill, self._spill = self._spill, None
        with guarded(self._session, relation):
            write_spilled(self._session, relation, spill)

    def abort(self) -> None:
        self._batches = []
        if self._spill is not None:
            self._spill.discard()
            self._spill = None

    def _spill_kept(self) -> None:
        if self._spill is None:
            self._spill = self._session.database.writes.new_spill()
        if self._batches:
            relation = self._target.relation
            change = TableChange(
                relation.relation_id, relation.version, inserts(self._take_rows()), rules=relation.rules
            )
            self._spill.append(change.record())

    def _take_rows(self) -> pa.Table:
        """Removes the rows from memory and returns them with all columns, checked."""
        batches, self._batches, self._kept_bytes = self._batches, [], 0
        rows = pa.concat_tables(batches)
        visible = rows if self._target.where is not None else self._visible(rows)
        return inserted(self._session, self._target.relation, visible)

    def _chosen(self, rows: pa.Table, where: Expr) -> pa.Table:
        """The rows for which the condition is true."""
        schema = (logical.Field("c0", BOOLEAN),)
        return rows.filter(self._session.evaluate([where], schema, rows, ()).column(0))

    def _visible(self, given: pa.Table) -> pa.Table:
        """All visible columns in storage order: the given ones, and the defaults of the others."""
        columns = dict(zip(self._target.columns, given.columns, strict=True))
        if self._target.defaults:
            positions = [index for index, _ in self._target.defaults]
            expressions = [expression for _, expression in self._target.defaults]
            schema = tuple(logical.Field(f"c{i}", e.type) for i, e in self._target.defaults)
            defaults = self._session.evaluate(expressions, schema, given, ())
            columns.update(zip(positions, defaults.columns, strict=True))
        ordered = [columns[index] for index in sorted(columns)]
        return pa.table(ordered, names=[f"c{index}" for index in range(len(ordered))])


def _renamed(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(batch.columns, names=[f"c{index}" for index in range(batch.num_columns)])


def _bind_to(session: StatementContext, statement: Copy) -> Command:
    options = make_copy_options(dict(statement.options))
    if statement.subscribe is not None:
        return _bind_subscribe(session, statement.subscribe, options)
    query = statement.query or parse_query(_select_of(session, statement))
    catalog = session.database.reads.catalog
    bound = bind_query(query, catalog, session.search_path(), (), session=session.session_values())
    planned, fields = session.planned(optimize(bound.plan, session.check), catalog), result_fields(bound.fields)
    _check_sent(fields, options)

    def run(parameters: Parameters) -> Result:
        set_settings(session, bound.settings, parameters)
        return Result(
            CommandTag("COPY", counts_rows=True),
            batches=session.run_query(planned, parameters),
            copy=CopyOut(fields, options),
        )

    return Command(run)


def _bind_subscribe(session: StatementContext, statement: Subscribe, options: CopyOptions) -> Command:
    fields = subscribe_fields(session, statement)
    _check_sent(fields, options)

    def run(parameters: Parameters) -> Result:
        rows = subscribed_rows(session, statement, fields)
        tag = CommandTag("COPY", counts_rows=True)
        return Result(tag, batches=rows, copy=CopyOut(fields, options), is_live=True)

    return Command(run)


def _check_sent(fields: Sequence[ResultField], options: CopyOptions) -> None:
    """Raises if an option is one of COPY FROM alone, or names a column that is not sent."""
    if options.matches_header:
        raise FeatureNotSupported('cannot use "match" with HEADER in COPY TO')
    if options.force_not_null:
        raise FeatureNotSupported("COPY force not null only available using COPY FROM")
    if options.force_null:
        raise FeatureNotSupported("COPY force null only available using COPY FROM")
    _check_named(fields, options.force_quote or frozenset(), "FORCE_QUOTE", None)


def _check_named(fields: Sequence[ResultField], names: Collection[str], option: str, relation: Table | None) -> None:
    for name in sorted({*names} - {field.name for field in fields}):
        if relation is not None and any(column.name == name and not column.hidden for column in relation.columns):
            raise SqlError(f'{option} column "{name}" not referenced by COPY', sqlstate="42P10")
        of = "" if relation is None else f' of relation "{relation.name}"'
        raise UndefinedColumn(f'column "{name}"{of} does not exist')


def _select_of(session: StatementContext, statement: Copy) -> str:
    """The query of COPY table TO. It leaves generated columns out, since COPY FROM does not take them."""
    assert statement.table is not None
    table = session.database.reads.catalog.find(statement.table.name, statement.table.schema, session.search_path())
    names = [double_quoted(column.name) for column in statement.columns or ()]
    if not names and table is not None and any(column.generated is not None for column in table.columns):
        names = [
            double_quoted(column.name) for column in table.columns if column.generated is None and not column.hidden
        ]
    schema = "" if statement.table.schema is None else double_quoted(statement.table.schema) + "."
    return f"SELECT {', '.join(names) or '*'} FROM {schema}{double_quoted(statement.table.name)}"
