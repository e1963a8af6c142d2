"""DECLARE … SUBSCRIPTION CURSOR, and FETCH from one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pyarrow as pa

from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError, UndefinedCursor
from risingpy.executors.epoch.time import COUNTER_BITS
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import DeclareSubscriptionCursor, Fetch, FetchKind, ParsedStatement, SubscriptionStart
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.describe import named_relation
from risingpy.frontend.statements.rights.checks import check_allowed
from risingpy.frontend.statements.subscriptions.subscription import as_subscription, duration_seconds
from risingpy.frontend.subscription_cursors import SubscriptionCursor
from risingpy.plan.catalog import Subscription
from risingpy.plan.catalog.acl import Privilege
from risingpy.types import SqlType


def bind_declare(
    session: StatementContext,
    parsed: ParsedStatement,
    statement: DeclareSubscriptionCursor,
    parameter_types: Sequence[SqlType],
) -> Command:
    """The cursor stays open after the transaction, until it is closed or the session ends.

    Raises 42P03 for a name in use, 72000 for a start that is older than the kept changes.
    """

    def run(parameters: Parameters) -> Result:
        if (
            session.portals.get(statement.name) is not None
            or session.subscription_cursors.get(statement.name) is not None
        ):
            raise SqlError(f'cursor "{statement.name}" already exists', sqlstate="42P03")
        relation = as_subscription(named_relation(session, statement.subscription), statement.subscription)
        check_allowed(session, relation, Privilege.SELECT)
        session.subscription_cursors.add(statement.name, _cursor(session, relation, statement))
        return Result(CommandTag("DECLARE SUBSCRIPTION CURSOR"))

    return Command(run)


def _cursor(
    session: StatementContext, subscription: Subscription, statement: DeclareSubscriptionCursor
) -> SubscriptionCursor:
    reader, relation_id = session.database.subscriptions, subscription.relation_id
    if statement.start is SubscriptionStart.FULL:
        session.snapshot().view.release()  # waits for the session's own writes
        snapshot = reader.snapshot(relation_id)
        return SubscriptionCursor(reader, relation_id, snapshot.form, snapshot.epoch, snapshot)
    after = reader.begin(subscription)
    if statement.start is SubscriptionStart.NOW:
        after = max(after, committed_epoch(session))
    elif statement.start is SubscriptionStart.SINCE:
        assert statement.since is not None
        if statement.since > time.time() * 1000:
            raise InvalidParameterValue("a subscription cursor cannot begin in the future")
        after = (statement.since << COUNTER_BITS) - 1
        reader.check_kept(subscription, after)
    return SubscriptionCursor(reader, relation_id, subscription.form_of(after + 1), after)


def committed_epoch(session: StatementContext) -> int:
    """The newest committed epoch. It has the session's own writes."""
    view = session.snapshot().view
    view.release()
    return view.epoch


def bind_fetch(session: StatementContext, statement: Fetch, cursor: SubscriptionCursor) -> Command:
    """The next rows, at most as many as asked for; the cursor passes them when the client has been sent all of them.

    With a timeout it waits so long for the first row. The command does not last, because an ALTER TABLE changes its
    columns. Running raises InsufficientPrivilege after SELECT on the subscription has been revoked, also meanwhile.
    """
    back = statement.backward or (statement.count or 0) < 0
    if statement.move or statement.kind is not FetchKind.FORWARD or back:
        raise FeatureNotSupported("a subscription cursor only moves forward, with FETCH NEXT or FETCH n")
    if statement.count is None or statement.count < 1:
        raise FeatureNotSupported("FETCH from a subscription cursor takes a number of rows")
    count, fields = statement.count, cursor.fields
    wait = 0.0 if statement.timeout is None else duration_seconds("timeout", statement.timeout)

    def run(parameters: Parameters) -> Result:
        if session.subscription_cursors.get(statement.name) is not cursor:
            raise UndefinedCursor(f'cursor "{statement.name}" does not exist')
        _check_still_allowed(session, cursor)
        rows = cursor.next_rows(count, wait, session.cancelled)
        _check_still_allowed(session, cursor)
        return Result(CommandTag("FETCH", counts_rows=True), fields, _passing(cursor, rows))

    return Command(run, fields, lasts=False)


def _check_still_allowed(session: StatementContext, cursor: SubscriptionCursor) -> None:
    """Of a subscription that is dropped the reader says so."""
    subscription = session.database.reads.catalog.relations.get(cursor.subscription_id)
    if subscription is not None:
        check_allowed(session, subscription, Privilege.SELECT)


def _passing(cursor: SubscriptionCursor, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from rows.to_batches()
    cursor.advance(rows.num_rows)
