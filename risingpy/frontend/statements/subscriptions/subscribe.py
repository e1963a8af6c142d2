"""SUBSCRIBE: the changes of a relation as an endless result, and COPY (SUBSCRIBE …) TO STDOUT.

    rw_epoch        bigint    the epoch of the change; of a row that was there before, the epoch of the snapshot
    rw_progressed   boolean   only WITH (progress): true in a row without anything else but an epoch
    op              varchar   as that of a subscription cursor
    …                         the relation's columns

All changes up to a progress row's epoch have been sent before it: AFTER EPOCH with this number goes on there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidParameterValue, SqlError
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import ObjectName, ParsedStatement, Query, Subscribe
from risingpy.frontend.results import CommandTag, Result, ResultField
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.subscriptions.reading_right import (
    ReadingRight,
    reading_right,
    subscribed_relation,
)
from risingpy.frontend.statements.subscriptions.view_of_query import bound_query, view_of
from risingpy.frontend.subscription_cursors import visible_fields
from risingpy.meta.schema.subscriptions import subscriptions_of
from risingpy.plan.catalog import ColumnDesc, FollowedForm, FollowedRelation, Subscription
from risingpy.types import BIGINT, BOOLEAN, VARCHAR, SqlType

PROGRESS_SECONDS = 1.0  # between two progress rows of a relation that does not change, and until UP TO is noticed


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Subscribe, parameter_types: Sequence[SqlType]
) -> Command:
    """Rows come as they happen. The result ends with UP TO, a cancel, or an ALTER TABLE of what is followed.

    After a REVOKE of the right to read it, no more rows come, but InsufficientPrivilege.

    Raises 72000 if changes after AFTER EPOCH are deleted already.
    """
    fields = subscribe_fields(session, statement)

    def run(parameters: Parameters) -> Result:
        rows = subscribed_rows(session, statement, fields)
        return Result(CommandTag("SUBSCRIBE", counts_rows=True), fields, rows, is_live=True)

    return Command(run, fields)


def subscribe_fields(session: StatementContext, statement: Subscribe) -> tuple[ResultField, ...]:
    """The columns of the result."""
    form = FollowedForm(0, _columns(session, statement.target), ())
    progress = (ResultField("rw_progressed", BOOLEAN),) if statement.progress else ()
    return (ResultField("rw_epoch", BIGINT), *progress, ResultField("op", VARCHAR), *visible_fields(form))


def subscribed_rows(
    session: StatementContext, statement: Subscribe, fields: Sequence[ResultField]
) -> Iterator[pa.RecordBatch]:
    """The rows; a batch without rows comes before each wait."""
    with ExitStack() as made:
        right = reading_right(session, statement.target)
        subscription_id = _subscription(session, statement, made).relation_id
        yield from _Subscribed(session, statement, fields, subscription_id, right).batches()


class _Subscribed:
    """One SUBSCRIBE that runs."""

    def __init__(
        self,
        session: StatementContext,
        statement: Subscribe,
        fields: Sequence[ResultField],
        subscription_id: int,
        right: ReadingRight,
    ) -> None:
        self._right = right
        self._cancelled = session.cancelled
        self._reader = session.database.subscriptions
        self._statement = statement
        self._columns = list(fields[2 + statement.progress :])
        self._schema = pa.schema([(f"c{i}", field.type.arrow) for i, field in enumerate(fields)])
        self._id = subscription_id
        session.snapshot().view.release()  # waits for the session's own writes

    def batches(self) -> Iterator[pa.RecordBatch]:
        statement = self._statement
        yield self._nothing()
        if statement.after_epoch is not None:
            after = statement.after_epoch
            if after > self._reader.newest_epoch:
                raise InvalidParameterValue(
                    f"there is no epoch {after} yet",
                    detail=f"The newest epoch is {self._reader.newest_epoch}.",
                    hint="AFTER EPOCH takes a rw_epoch that SUBSCRIBE has shown.",
                )
            self._reader.check_kept(self._reader.subscription(self._id), after)
        elif statement.snapshot:
            snapshot = self._reader.snapshot(self._id)
            after = snapshot.epoch
            try:
                self._check(snapshot.form, after)
                for rows in snapshot.batches:
                    yield from self._shown(rows.set_column(1, "epoch", pa.repeat(after, rows.num_rows)))
            finally:
                snapshot.batches.close()
            yield from self._progress(after)
        else:
            after = self._reader.newest_epoch
            yield from self._progress(after)
        yield from self._changes(after)

    def _changes(self, after: int) -> Iterator[pa.RecordBatch]:
        up_to = self._statement.up_to
        told = after  # in the last progress row
        wait = PROGRESS_SECONDS if self._statement.progress or up_to is not None else None
        while up_to is None or after < up_to:
            parts, reached = self._reader.read(self._id, after, cancelled=self._cancelled)
            if not parts:
                yield self._nothing()
                parts, reached = self._reader.read(self._id, max(after, reached), wait=wait, cancelled=self._cancelled)
            for part in parts:
                rows = part.rows
                if up_to is not None and part.up_to > up_to:
                    rows = rows.filter(pc.less_equal(rows.column("epoch"), up_to))
                if rows.num_rows:
                    self._check(part.form, after)
                    yield from self._shown(rows)
                    after = part.up_to
            after = reached
            if after > told:
                told = after if up_to is None else min(after, up_to)
                yield from self._progress(told)

    def _check(self, form: FollowedForm, after: int) -> None:
        """Raises SqlError (55000) if the rows have other columns than the result."""
        if list(visible_fields(form)) != self._columns:
            raise SqlError(
                "the columns of what is followed have changed",
                sqlstate="55000",
                hint=f"SUBSCRIBE again, AFTER EPOCH {after}.",
            )

    def _shown(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        self._right.check()
        progressed = [pa.repeat(pa.scalar(False), rows.num_rows)] if self._statement.progress else []
        columns = [rows.column("epoch"), *progressed, rows.column("word"), *rows.columns[2:]]
        yield from pa.table(columns, schema=self._schema).to_batches()

    def _progress(self, epoch: int) -> Iterator[pa.RecordBatch]:
        if self._statement.progress:
            self._right.check()
            values = [[epoch], [True], *([None] for _ in self._schema.names[2:])]
            columns = [pa.array(value, type_) for value, type_ in zip(values, self._schema.types, strict=True)]
            yield pa.record_batch(columns, schema=self._schema)

    def _nothing(self) -> pa.RecordBatch:
        return pa.record_batch([pa.array([], type_) for type_ in self._schema.types], schema=self._schema)


def _columns(session: StatementContext, target: ObjectName | Query) -> tuple[ColumnDesc, ...]:
    if isinstance(target, Query):
        return bound_query(session, target).columns
    return subscribed_relation(session, target).columns


def _subscription(session: StatementContext, statement: Subscribe, made: ExitStack) -> Subscription:
    """The subscription that is read. What was made for this statement is dropped with `made`."""
    target = statement.target
    if isinstance(target, Query):
        if statement.after_epoch is not None:
            hint = "CREATE MATERIALIZED VIEW of the query, and CREATE SUBSCRIPTION FROM the view."
            raise _nothing_kept("a query", target.position, hint)
        return _temporary(session, made.enter_context(view_of(session, target)), made)
    relation, reader = subscribed_relation(session, target), session.database.subscriptions
    if isinstance(relation, Subscription):
        return relation
    kept = [each for each in subscriptions_of(session.database.reads.catalog, relation) if not each.is_temporary]
    if kept:
        return min(kept, key=reader.begin)
    if statement.after_epoch is not None:
        hint = f"CREATE SUBSCRIPTION name FROM {relation.name} WITH (retention = '1 day') keeps them from then on."
        raise _nothing_kept(f'"{relation.name}"', target.position, hint)
    return _temporary(session, relation, made)


def _temporary(session: StatementContext, relation: FollowedRelation, made: ExitStack) -> Subscription:
    subscription = session.ddl.create_temporary_subscription(relation, session.cancelled)
    made.callback(session.ddl.drop_unused, subscription.relation_id)
    return subscription


def _nothing_kept(what: str, position: int | None, hint: str) -> SqlError:
    return SqlError(f"no subscription keeps the changes of {what}", sqlstate="55000", position=position, hint=hint)
