"""pg_sequence, pg_sequences and information_schema.sequences: what sequences count, and where they stand.

A sequence is an object with rights of its own: who has none on it does not see where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import relation_oid
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import NumberSequence
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.catalog.rights import privileges_of, securable

_PRECISIONS = {2: 16, 4: 32, 8: 64}  # bits, by the bytes of the type


def _rows(state: SystemState) -> Iterable[Row]:
    for sequence in state.sequences:
        counting = sequence.counting
        yield (
            *(relation_oid(sequence), counting.type.oid, counting.start, counting.increment),
            *(counting.maximum, counting.minimum, counting.cache, counting.cycles),
        )


def _rights(state: SystemState, sequence: NumberSequence) -> Privilege:
    return privileges_of(state.catalog, state.role_id, securable(state.catalog, sequence))


def _listed(state: SystemState) -> Iterable[Row]:
    for sequence in state.sequences:
        counting, last = sequence.counting, None
        if _rights(state, sequence) & (Privilege.SELECT | Privilege.USAGE):
            position = state.position(sequence)
            last = position.last if position is not None and position.called else None
        yield (
            *(sequence.schema_name, sequence.name, state.role_name(sequence.owner), counting.type.oid),
            *(counting.start, counting.minimum, counting.maximum, counting.increment, counting.cycles),
            *(counting.cache, last),
        )


def _standard(state: SystemState) -> Iterable[Row]:
    """The standard's list has no sequences of identity columns, and none with which the session may do nothing."""
    for sequence in state.sequences:
        is_identity = sequence.owned_by is not None and sequence.owned_by.is_identity
        if is_identity or not _rights(state, sequence):
            continue
        counting, place = sequence.counting, (sequence.schema_name, sequence.name)
        numbers = (counting.start, counting.minimum, counting.maximum, counting.increment)
        precision = _PRECISIONS[counting.type.typlen]
        cycles = "YES" if counting.cycles else "NO"
        yield state.catalog.database, *place, counting.type.name, precision, 2, 0, *map(str, numbers), cycles


PG_SEQUENCE = relation(
    "pg_catalog",
    "pg_sequence",
    "seqrelid oid, seqtypid oid, seqstart int8, seqincrement int8, seqmax int8, seqmin int8, seqcache int8,"
    "seqcycle bool",
    _rows,
)
PG_SEQUENCES = relation(
    "pg_catalog",
    "pg_sequences",
    "schemaname name, sequencename name, sequenceowner name, data_type regtype, start_value int8, min_value int8,"
    "max_value int8, increment_by int8, cycle bool, cache_size int8, last_value int8",
    _listed,
)
SEQUENCES = relation(
    "information_schema",
    "sequences",
    "sequence_catalog name, sequence_schema name, sequence_name name, data_type text, numeric_precision int4,"
    "numeric_precision_radix int4, numeric_scale int4, start_value text, minimum_value text, maximum_value text,"
    "increment text, cycle_option text",
    _standard,
)
