"""rw_catalog's view of the state store: the tables' sizes, the committed epoch, the epochs with readers, and memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime

from risingpy.frontend.system_catalog.oids import index_oid, relation_oid, system_relation_oid
from risingpy.frontend.system_catalog.system_relation import HIDDEN, Row, SystemState, relation
from risingpy.frontend.system_catalog.visible_columns import declared_key
from risingpy.meta.epochs.number import milliseconds
from risingpy.meta.statistics import TableStatistics
from risingpy.plan.catalog import Relation, StoredRelation


def _table_stats(state: SystemState) -> Iterable[Row]:
    for table_id, table in sorted(state.statistics().items()):
        found = state.catalog.get(table_id)
        if found is not None:
            digest = f"{table.digest:016x}" if state.may_read(found) else None
            yield table_id, table.rows, table.key_bytes, table.value_bytes, digest


def _state_store(state: SystemState) -> Iterable[Row]:
    epoch = int(state.parameters["committed_epoch"])
    committed_at = datetime.fromtimestamp(milliseconds(epoch) / 1000, UTC) if epoch else None
    sizes = (int(state.parameters["data_bytes"]), int(state.parameters["log_bytes"]))
    failure = state.epoch_failure()
    if failure is not None and not state.reads_all_stats:  # it may quote rows of any table
        failure = HIDDEN
    yield epoch, committed_at, int(state.parameters["parallelism"]), *sizes, failure


def _read_views(state: SystemState) -> Iterable[Row]:
    for view in state.views:
        yield view.epoch, view.holders, view.age_seconds, view.outdated_seconds


def _memory(state: SystemState) -> Iterable[Row]:
    use = state.memory()
    return () if use is None else asdict(use).items()


def _compactions(state: SystemState) -> Iterable[Row]:
    statistics = state.statistics()
    for table_id, progress in sorted(state.compactions().items()):
        found = state.catalog.relations.get(table_id)
        if found is not None:
            rows = statistics[table_id].rows if table_id in statistics else 0
            status = "FINISHED" if progress.finished else "RUNNING"
            yield table_id, found.name, progress.target, status, progress.examined, rows, progress.rewritten


def _bytes(statistics: Mapping[int, TableStatistics], of: Relation) -> int:
    table = statistics.get(of.relation_id)
    return 0 if table is None else table.key_bytes + table.value_bytes


def _sizes(state: SystemState) -> Iterable[Row]:
    """The sizes of all relations in pg_class."""
    statistics = state.statistics()
    in_indexes: Counter[int] = Counter()
    for index, indexed in state.indexes:
        in_indexes[indexed.relation_id] += _bytes(statistics, index)
        yield relation_oid(index), _bytes(statistics, index), 0
    for found in state.relations:
        yield relation_oid(found), _bytes(statistics, found), in_indexes[found.relation_id]
        if declared_key(found):
            yield index_oid(found), 0, 0  # the rows are kept in its order
    for system in state.system_relations:
        yield system_relation_oid(system.schema, system.name), 0, 0  # they are made of the catalog when they are read


def _digests(state: SystemState) -> Iterable[Row]:
    """The digests by every text that names the relation; NULL if it stores no rows, or none that the session may read.

    A digest would tell somebody who guesses the rows whether they are right. Empty tables have no statistics.
    """
    statistics = state.statistics()
    for found in (*state.catalog.own_relations, *state.catalog.own_internal_tables):
        digest = None
        if isinstance(found, StoredRelation) and state.may_read(found):
            table = statistics.get(found.relation_id)
            digest = f"{0 if table is None else table.digest:016x}"
        yield from ((text, digest) for text in (*state.keys(found), str(relation_oid(found))))


RW_TABLE_STATS = relation(
    "rw_catalog",
    "rw_table_stats",
    "id int4, total_key_count int8, total_key_size int8, total_value_size int8, digest text",
    _table_stats,
)
RW_STATE_STORE = relation(
    "rw_catalog",
    "rw_state_store",
    "committed_epoch int8, committed_at timestamptz, shards int4, data_bytes int8, log_bytes int8, epoch_failure text",
    _state_store,
)
RW_READ_VIEWS = relation(
    "rw_catalog",
    "rw_read_views",
    "epoch int8, holders int4, age_seconds float4, outdated_seconds float4",
    _read_views,
)
RW_MEMORY = relation("rw_catalog", "rw_memory", "part text, bytes int8", _memory)
RW_COMPACTIONS = relation(
    "rw_catalog",
    "rw_compactions",
    "id int4, name text, target_version int8, status text, examined_rows int8, total_rows int8, rewritten_rows int8",
    _compactions,
)
STATISTICS = relation("risingpy", "rp_statistics", "rp_oid oid, rp_bytes int8, rp_index_bytes int8", _sizes)
DIGESTS = relation("risingpy", "rp_digests", "rp_text text, rp_digest text", _digests)
