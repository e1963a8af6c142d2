"""CREATE and ALTER of sequences, also those of serial and identity columns: from one `MetaState` to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace

from risingpy.errors import SerializationFailure
from risingpy.meta.schema.relations import check_new_name, with_relation
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.plan.catalog import (
    ColumnDesc,
    Counting,
    Identity,
    NumberSequence,
    OwningColumn,
    Table,
    identity_bounds,
)
from risingpy.plan.catalog.free_names import free_name
from risingpy.plan.catalog.sequences import COLUMNS


@dataclass(frozen=True, slots=True)
class NewSequence:
    """CREATE SEQUENCE."""

    schema_name: str
    name: str
    counting: Counting
    owned_by: OwningColumn | None = None


def add_sequence(state: MetaState, new: NewSequence) -> tuple[MetaState, NumberSequence]:
    """(`state` with the sequence, which has the owner of the table that it belongs to; the sequence)."""
    check_new_name(state, new.schema_name, new.name)
    allocate = IdAllocator(state.next_id)
    made = NumberSequence(
        relation_id=allocate(),
        schema_name=new.schema_name,
        name=new.name,
        columns=COLUMNS,
        version=state.catalog.version + 1,
        database_id=state.catalog.database_id,
        counting=new.counting,
        owned_by=new.owned_by,
    )
    return with_relation(state, made, allocate), made


def with_altered_sequence(
    state: MetaState, sequence_id: int, altered: NumberSequence, *, restarts: bool = False
) -> MetaState:
    """`state` in which a sequence counts, and belongs to a column, as `altered` does.

    If it `restarts`, it has a counter of its own from here on, which stands nowhere yet.
    """
    now = state.catalog.relations.get(sequence_id)
    if not isinstance(now, NumberSequence):
        raise SerializationFailure("the sequence was dropped meanwhile", hint="Run the statement again.")
    allocate = IdAllocator(state.next_id)
    restarted = allocate() if restarts else now.restarted
    changed = replace(now, counting=altered.counting, owned_by=altered.owned_by, restarted=restarted)
    return with_relation(state, changed, allocate)


# -- the sequences of columns -------------------------------------------------------------------------------------


def with_sequences_of(state: MetaState, table_id: int) -> MetaState:
    """`state` in which each serial or identity column of a table has a sequence, named as PostgreSQL names it."""
    table = state.catalog.relations[table_id]
    assert isinstance(table, Table)
    for column in table.columns:
        identity = column.identity
        if identity is None or identity.sequence:
            continue
        given_schema, name = identity.sequence_name or (None, "")
        schema = given_schema or table.schema_name
        place = OwningColumn(table_id, column.column_id, is_identity=not identity.is_serial)
        name = name or _free_name(state, table, column.name)
        state, made = add_sequence(state, NewSequence(schema, name, _counting(column, identity), place))
        relations = dict(state.catalog.relations)
        relations[made.relation_id] = replace(made, owner=table.owner)
        now = relations[table_id]
        columns = tuple(_with_sequence(each, made, column.column_id) for each in now.columns)
        relations[table_id] = replace(now, columns=columns)
        state = replace(state, catalog=replace(state.catalog, relations=relations))
    return state


def _free_name(state: MetaState, table: Table, column: str) -> str:
    return free_name(
        table.name, column, "seq", lambda name: state.catalog.find(name, table.schema_name, ()) is not None
    )


def _counting(column: ColumnDesc, identity: Identity) -> Counting:
    """What its sequence counts; stores of earlier versions say it in the identity itself."""
    if identity.wanted is not None:
        return identity.wanted
    least, greatest = identity_bounds(column.type, identity.increment, identity.minimum, identity.maximum)
    return Counting(replace(column.type), identity.start, identity.increment, least, greatest)


def _with_sequence(column: ColumnDesc, made: NumberSequence, column_id: int) -> ColumnDesc:
    if column.column_id != column_id or column.identity is None:
        return column
    if column.identity.is_serial:
        default = f"nextval('{made.relation_id}'::regclass)"
        return replace(column, identity=None, default=default, sequences=(made.relation_id,))
    identity = Identity(column.identity.counter, column.identity.always, sequence=made.relation_id)
    return replace(column, identity=identity)


def with_sequences_of_copy(state: MetaState, before: Table, after: Table) -> MetaState:
    """`state` in which the sequences of a table belong to the copy that takes its place."""
    relations = dict(state.catalog.relations)
    for sequence in state.catalog.sequences_of(before.relation_id):
        assert sequence.owned_by is not None
        owned_by = replace(sequence.owned_by, table_id=after.relation_id)
        relations[sequence.relation_id] = replace(sequence, owned_by=owned_by)
    return replace(state, catalog=replace(state.catalog, relations=relations))
