"""The graphs of a database's indexes on vectors: who builds them, and how they follow what their relations change.

A thread per index keeps the changes of its relation from some epoch on (a temporary subscription), adds the rows that
the index's own table has in that epoch, and then applies epoch after epoch. A search first applies what is committed
already. So a graph is as new as the newest epoch whenever it answers; until it is built, searches are exact.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.executors.change_chunk import INSERT, columns_of, ops_of
from risingpy.meta.changelogs.reader import ChangelogReader, EpochChanges
from risingpy.meta.changelogs.trimming import Trimming
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.schema.commands import SchemaCommands
from risingpy.meta.subscriptions.reader import SubscriptionReader
from risingpy.meta.vector_indexes.graph import BeyondHalf, VectorGraph
from risingpy.meta.vector_indexes.reals import RealForm
from risingpy.meta.vector_indexes.searches import Found, GraphSearches, Search
from risingpy.plan.catalog import Catalog, FollowedForm, FollowedRelation, Index, JobStatus
from risingpy.plan.expressions import InputRef
from risingpy.storage.engine.storage_table import StorageTable
from risingpy.types.packed.float_vector import BYTES_OF_DIMENSION

LOG = logging.getLogger(__name__)
_FOLLOW_SECONDS = 1.0  # between two looks whether the index is still there
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds before a graph that could not be built is tried again
_BUILD_THREADS = 2
_LONG_SECONDS = 0.00025  # that the event loop shall not spend on one client; to hand a search on costs a tenth of it


@dataclass(slots=True)
class _Followed:
    """A graph, and the epoch up to which it has its relation's changes."""

    graph: VectorGraph
    subscription_id: int
    column_id: int
    epoch: int
    guard: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class GraphStatus:
    """Of the graph of an index: how many `vectors` it has, None while it is built; `error`: why the last try failed."""

    vectors: int | None
    error: str | None = None

    @property
    def state(self) -> str:
        """built, building or failed; a failed one is tried again."""
        return "failed" if self.error is not None else "building" if self.vectors is None else "built"


class VectorIndexes:
    """One for a database. `follow` is called with each new catalog."""

    def __init__(
        self,
        published: PublishedState,
        changelogs: ChangelogReader,
        subscriptions: SubscriptionReader,
        trimming: Trimming,
        ddl: Callable[[], SchemaCommands],
    ) -> None:
        self._published = published
        self._subscriptions = subscriptions
        self._changelogs = changelogs
        self._trimming = trimming
        self._ddl = ddl
        self._guard = threading.Lock()
        self._threads: dict[int, threading.Thread] = {}
        self._built: dict[int, _Followed] = {}
        self._errors: dict[int, str] = {}  # of graphs that could not be built
        self._changed = threading.Condition(self._guard)
        self._closed = False
        self._searches = GraphSearches(self._nearest_to_each)

    def follow(self, catalog: Catalog) -> None:
        """Begins to build the graphs of indexes that are new, and forgets those of dropped ones."""
        wanted = {index.relation_id for index in _vector_indexes(catalog)}
        with self._guard:
            for known in (self._built, self._errors):
                for gone in known.keys() - wanted:
                    del known[gone]
            if self._closed:
                return
            for index_id in wanted - self._threads.keys():
                thread = threading.Thread(target=self._run, args=(index_id,), name=f"index {index_id}", daemon=True)
                self._threads[index_id] = thread
                thread.start()

    def close(self) -> None:
        """Ends the threads, which are between two epochs."""
        self._searches.close()
        with self._guard:
            self._closed = True
            threads = list(self._threads.values())
            self._changed.notify_all()
        for thread in threads:
            thread.join(2 * _FOLLOW_SECONDS)

    def until_built(self, catalog: Catalog, index_id: int, look: Callable[[], None]) -> None:
        """Waits for the graph of an index, or for its failure; `look` raises if the statement is cancelled."""
        self.follow(catalog)
        with self._guard:
            while index_id in self._threads and not self._is_settled(index_id):
                self._changed.wait(0.1)
                look()

    def _is_settled(self, index_id: int) -> bool:
        return index_id in self._built or index_id in self._errors or self._closed

    def status(self) -> Mapping[int, GraphStatus]:
        """Of each graph, by the id of its index."""
        with self._guard:
            built = {index_id: GraphStatus(len(each.graph)) for index_id, each in self._built.items()}
            waiting = {index_id: GraphStatus(None, self._errors.get(index_id)) for index_id in self._threads}
        return waiting | built

    def nearest(self, index_id: int, vector: bytes, count: int, candidates: int) -> list[tuple[object, ...]] | None:
        """The keys of the rows nearest to the vector in the newest epoch.

        None if the graph is not built yet, or has fewer vectors than are asked for: then all rows must be compared.
        """
        followed = self._answering(index_id, vector)
        if followed is None:
            return None
        try:
            self._catch_up(followed, wait=0.0)
        except (SqlError, BeyondHalf):  # its thread finds that, too, and builds it again
            return None
        if len(followed.graph) < count:
            return None
        found = followed.graph.nearest(vector, count, candidates)
        return found if len(found) == count else None

    def nearest_now(self, index_id: int, vector: bytes, count: int, candidates: int) -> list[tuple[object, ...]] | None:
        """As `nearest`, but None, too, if the graph lacks changes of the newest epoch. Never waits for any."""
        followed = self._answering(index_id, vector)
        if followed is None or not followed.guard.acquire(blocking=False):
            return None
        try:
            if not self._is_newest(followed) or len(followed.graph) < count:
                return None
            found = followed.graph.nearest_now(vector, count, candidates)
        finally:
            followed.guard.release()
        return found if found is not None and len(found) == count else None

    def takes_long(self, index_id: int, candidates: int) -> bool:
        """Whether a search is for `ask` rather than for `nearest_now`."""
        with self._guard:
            followed = self._built.get(index_id)
        return followed is not None and followed.graph.seconds_of(candidates) > _LONG_SECONDS

    def ask(self, search: Search) -> Callable[[], None] | None:
        """Has the search made by another thread (`GraphSearches.ask`); None if there is no graph for it."""
        return None if self._answering(search.index_id, search.vector) is None else self._searches.ask(search)

    def is_as_of(self, index_id: int, epoch: int) -> bool:
        """Whether the rows of the index's relation are those of that epoch. Never waits for a graph."""
        with self._guard:
            followed = self._built.get(index_id)
        return followed is not None and self._unchanged_up_to(followed, epoch) is not None

    def _nearest_to_each(
        self, index_id: int, vectors: Sequence[bytes], count: int, candidates: int
    ) -> Sequence[Found | None]:
        """See `FindsEach`. For vectors of as many dimensions as the graph's."""
        nothing = [None] * len(vectors)
        with self._guard:
            followed = self._built.get(index_id)
        if followed is None:
            return nothing
        try:
            with followed.guard:
                is_newest = self._is_newest(followed)
            if not is_newest:
                self._catch_up(followed, wait=0.0)
        except (SqlError, BeyondHalf):
            return nothing
        epoch, graph = followed.epoch, followed.graph  # that may become newer meanwhile: then it is searched again
        if len(graph) < count:
            return nothing
        threads = min(len(vectors), len(os.sched_getaffinity(0)))
        found = graph.nearest_to_each(vectors, count, candidates, threads)
        return [Found(keys, epoch) if len(keys) == count else None for keys in found]

    def _is_newest(self, followed: _Followed) -> bool:
        """Whether the graph lacks nothing. The caller has its guard."""
        up_to = self._unchanged_up_to(followed, followed.epoch)
        if up_to is not None:
            followed.epoch = up_to
        return up_to is not None

    def _unchanged_up_to(self, followed: _Followed, epoch: int) -> int | None:
        """The newest epoch, if the graph's relation has not changed since `epoch`; those of other relations do not."""
        if epoch == self._published.state.committed.epoch:
            return epoch
        try:
            subscription = self._subscriptions.subscription(followed.subscription_id)
            changes = self._changelogs.read(subscription.table, epoch, most_rows=1)
            self._subscriptions.check_kept(subscription, epoch)
        except SqlError:
            return None
        return None if changes.epochs else changes.up_to

    def _answering(self, index_id: int, vector: bytes) -> _Followed | None:
        """The index's graph, if it is built and has vectors of as many dimensions."""
        with self._guard:
            followed = self._built.get(index_id)
        is_one = followed is not None and len(vector) == followed.graph.dimensions * BYTES_OF_DIMENSION
        return followed if is_one else None

    def _run(self, index_id: int) -> None:
        """Builds the graph and follows; after a failure again, in ever longer pauses: searches are exact meanwhile."""
        pause, form = _FIRST_PAUSE, None
        try:
            while self._is_wanted(index_id):
                try:
                    followed = self._build(index_id, form)
                    if followed is None:
                        break
                    pause = _FIRST_PAUSE
                    self._follow_changes(index_id, followed)
                except BeyondHalf:
                    form = RealForm.SINGLE
                except Exception as error:
                    self._note_failure(index_id, error, pause)
                    self._pause(index_id, pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            with self._guard:
                for known in (self._built, self._errors, self._threads):
                    known.pop(index_id, None)
                self._changed.notify_all()

    def _note_failure(self, index_id: int, error: Exception, pause: float) -> None:
        if self._is_wanted(index_id):
            LOG.warning("the graph of index %s is tried again in %s s: %s", index_id, pause, error)
        with self._guard:
            self._built.pop(index_id, None)
            self._errors[index_id] = str(error) or type(error).__name__
            self._changed.notify_all()

    def _pause(self, index_id: int, seconds: float) -> None:
        end = time.monotonic() + seconds
        with self._guard:
            while self._is_wanted(index_id) and (left := end - time.monotonic()) > 0:
                self._changed.wait(min(left, _FOLLOW_SECONDS))

    def _follow_changes(self, index_id: int, followed: _Followed) -> None:
        """Until the index goes, or changes have gone that the graph does not have: then it is built again."""
        try:
            while self._is_wanted(index_id):
                self._catch_up(followed, wait=_FOLLOW_SECONDS)
        except SqlError as error:
            LOG.info("the graph of index %s is built again: %s", index_id, error)
        finally:
            with self._guard:
                self._built.pop(index_id, None)
            self._ddl().drop_unused(followed.subscription_id)

    def _is_wanted(self, index_id: int) -> bool:
        return not self._closed and index_id in self._published.state.catalog.relations

    def _build(self, index_id: int, form: RealForm | None) -> _Followed | None:
        index = self._published.state.catalog.relations.get(index_id)
        if not isinstance(index, Index) or index.index.nearest is None:
            return None
        relation = self._published.state.catalog.relations[index.index.relation_id]
        assert isinstance(relation, FollowedRelation)
        subscription = self._ddl().create_temporary_subscription(relation)
        try:
            followed = self._filled(index, subscription.relation_id, form)
        except BaseException:
            self._ddl().drop_unused(subscription.relation_id)
            raise
        if followed is None:
            self._ddl().drop_unused(subscription.relation_id)
            return None
        with self._guard:
            self._built[index_id] = followed
            self._errors.pop(index_id, None)
            self._changed.notify_all()
        return followed

    def _filled(self, index: Index, subscription_id: int, form: RealForm | None) -> _Followed | None:
        """A graph of the index's rows in some epoch; None if the index goes meanwhile."""
        assert index.index.nearest is not None
        state, view = self._published.acquire_view((index.relation_id,))
        try:
            (key,) = index.index.keys
            assert isinstance(key.expression, InputRef)
            place = next(i for i, column in enumerate(index.columns) if column.column_id == key.expression.index)
            length = index.columns[place].type.length
            assert length is not None
            key_places = [part.index for part in index.table.key]
            graph = VectorGraph(index.index.nearest, length, [index.columns[i].type for i in key_places], form)
            followed = _Followed(graph, subscription_id, key.expression.index, state.committed.epoch)
            for batch in StorageTable(index.table, view).scan([*key_places, place]):
                if not self._is_wanted(index.relation_id):
                    return None
                columns = batch.columns
                graph.add(columns[:-1], columns[-1], threads=_BUILD_THREADS)
        finally:
            view.release()
        return followed

    def _catch_up(self, followed: _Followed, wait: float) -> None:
        """Applies what is committed. Waits for a first change up to `wait` seconds."""
        subscription = self._subscriptions.subscription(followed.subscription_id)
        if wait:
            first = self._changelogs.read(subscription.table, followed.epoch, most_rows=1, wait=wait)
            if not first.epochs and first.up_to == followed.epoch:  # searches that do not wait shall find it at rest
                self._subscriptions.check_kept(subscription, followed.epoch)
                return
        with followed.guard:
            while True:
                changes = self._changelogs.read(subscription.table, followed.epoch)
                self._subscriptions.check_kept(subscription, followed.epoch)
                for each in changes.epochs:
                    _apply(followed, each, subscription.form_of(each.epoch))
                if changes.up_to <= followed.epoch:
                    break
                followed.epoch = changes.up_to
            if wait:
                self._trimming.up_to(subscription.table.table_id, followed.epoch)


def _apply(followed: _Followed, changes: EpochChanges, form: FollowedForm) -> None:
    """Rows that went are removed before those that came are added: an update is both."""
    ops = ops_of(changes.rows)
    columns = columns_of(changes.rows)
    place = next(i for i, column in enumerate(form.columns) if column.column_id == followed.column_id)
    came = pa.array(ops == INSERT)
    keys = [columns[i] for i in form.stream_key]
    followed.graph.remove([column.filter(pa.array(ops != INSERT)) for column in keys])
    followed.graph.add([column.filter(came) for column in keys], columns[place].filter(came))


def _vector_indexes(catalog: Catalog) -> Sequence[Index]:
    return [
        each
        for each in catalog.relations.values()
        if isinstance(each, Index) and each.index.nearest is not None and each.status is JobStatus.CREATED
    ]
