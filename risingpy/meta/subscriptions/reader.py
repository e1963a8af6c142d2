"""Reads a subscription's changes in order, and the rows that what it follows has at one epoch.

A place in a subscription is an epoch, as in a changelog: exclusive and exact. No reader holds an epoch back,
or keeps changes from being deleted: one that comes too late is told so.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from risingpy.errors import SqlError, UndefinedTable
from risingpy.meta.cancellation import CancelFlag
from risingpy.meta.changelogs.reader import ChangelogReader
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.subscriptions.change_rows import rows_of_epoch, rows_of_snapshot, visible_columns
from risingpy.meta.subscriptions.deleted_epochs import DeletedEpochs
from risingpy.plan.catalog import Catalog, FollowedForm, FollowedRelation, Subscription
from risingpy.storage.engine.storage_table import StorageTable


@dataclass(frozen=True, slots=True)
class ChangePart:
    """Changes of one form of the relation, as `change_rows` has them. There is nothing else up to `up_to`."""

    form: FollowedForm
    rows: pa.Table
    up_to: int


@dataclass(frozen=True, slots=True)
class FollowedSnapshot:
    """The rows at `epoch`, whose changes follow. `batches` is a generator: closing it releases the snapshot."""

    epoch: int
    form: FollowedForm
    batches: Generator[pa.Table]


class SubscriptionReader:
    """One for a database. Any thread may call it."""

    def __init__(self, published: PublishedState, changelogs: ChangelogReader, deleted: DeletedEpochs) -> None:
        self._published = published
        self._changelogs = changelogs
        self._deleted = deleted

    def begin(self, subscription: Subscription) -> int:
        """The epoch after which the subscription still has all changes."""
        return max(subscription.begin, self._deleted.of(subscription.relation_id))

    def read(
        self, subscription_id: int, after: int, *, wait: float | None = 0.0, cancelled: CancelFlag | None = None
    ) -> tuple[list[ChangePart], int]:
        """(the next changes after the epoch `after`, the epoch up to which these are all).

        If there are none, it waits for them up to `wait` seconds (None: for ever). It may return none early.
        Raises SqlError (72000) if changes after `after` are deleted already, (55000) if there will be no more, and
        UndefinedTable if the subscription is dropped.
        """
        subscription = self.subscription(subscription_id)
        if subscription.has_stopped:
            wait = 0.0
        changes = self._changelogs.read(subscription.table, after, wait=wait, cancelled=cancelled)
        # Looked at after the read: what is deleted is noted before.
        self.check_kept(subscription, after)
        if not changes.epochs:
            if subscription.has_stopped:
                raise SqlError(
                    f'subscription "{subscription.name}" has stopped because of an error',
                    sqlstate="55000",
                    hint="It has no more changes. DROP it and create it again.",
                )
            return [], max(after, changes.up_to)
        # An ALTER may have been committed during the wait: the changes may be in a form that is new.
        now = self.subscription(subscription_id)
        parts: list[ChangePart] = []
        for form, epochs in groupby(changes.epochs, key=lambda each: now.form_of(each.epoch)):
            group = list(epochs)
            rows = pa.concat_tables([rows_of_epoch(each, form) for each in group])
            parts.append(ChangePart(form, rows, group[-1].epoch))
        return parts, changes.up_to

    @property
    def newest_epoch(self) -> int:
        """The newest committed epoch."""
        return self._published.state.committed.epoch

    def snapshot(self, subscription_id: int) -> FollowedSnapshot:
        """The rows that what the subscription follows has in the newest committed epoch, in no order."""
        followed = _subscription(self._published.state.catalog, subscription_id).followed
        state, view = self._published.acquire_view((followed,))
        try:
            subscription = _subscription(state.catalog, subscription_id)
            relation = state.catalog.relations[subscription.followed]
            assert isinstance(relation, FollowedRelation)
            form = subscription.forms[-1]
            table = StorageTable(relation.table, view)
        except BaseException:
            view.release()
            raise

        def batches() -> Generator[pa.Table]:
            try:
                yield rows_of_snapshot(_no_rows(form))  # so that it has begun: closing it then releases the view
                for batch in table.scan(visible_columns(form)):
                    yield rows_of_snapshot(batch)
            finally:
                view.release()

        rows = batches()
        next(rows)
        return FollowedSnapshot(state.committed.epoch, form, rows)

    def subscription(self, subscription_id: int) -> Subscription:
        """The newest state of a subscription. Raises UndefinedTable if it is dropped."""
        return _subscription(self._published.state.catalog, subscription_id)

    def check_kept(self, subscription: Subscription, after: int) -> None:
        """Raises SqlError (72000) if the subscription does not have all changes after the epoch `after`."""
        begin = self.begin(subscription)
        if after < begin:
            raise SqlError(
                f'subscription "{subscription.name}" does not have all changes after epoch {after} any more',
                sqlstate="72000",
                detail=f"It has the changes after epoch {begin}.",
                hint="Read the relation anew, with FULL or a snapshot, or keep changes longer: SET retention.",
            )


def _subscription(catalog: Catalog, subscription_id: int) -> Subscription:
    found = catalog.relations.get(subscription_id)
    if not isinstance(found, Subscription):
        raise UndefinedTable("the subscription was dropped")
    return found


def _no_rows(form: FollowedForm) -> pa.RecordBatch:
    types = [form.columns[index].type.arrow for index in visible_columns(form)]
    return pa.record_batch([pa.array([], type_) for type_ in types], names=[f"c{i}" for i in range(len(types))])
