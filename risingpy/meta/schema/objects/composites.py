"""CREATE TYPE … AS (…) and ALTER TYPE … ATTRIBUTE, as functions from one `MetaState` to the next.

Columns and plans have the fields of a row in their types, and rows have the values in this order. So the attributes of
a type stay as they are while anything has it.
"""

from __future__ import annotations

from dataclasses import replace

from risingpy.errors import FeatureNotSupported, WrongObjectType
from risingpy.meta.schema.objects.dropped_types import columns_of, dependents, types_needing
from risingpy.meta.schema.objects.user_types import TypeTarget, check_new_type_name, required, with_type
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.plan.catalog import CompositeDesc


def required_composite(state: MetaState, target: TypeTarget) -> CompositeDesc:
    """The row's type. Raises UndefinedObject, and WrongObjectType for a type of another kind."""
    found = required(state, target)
    if not isinstance(found, CompositeDesc):
        raise WrongObjectType(f'"{target.shown}" is not a composite type')
    return found


def add_composite(state: MetaState, new: CompositeDesc) -> MetaState:
    """`state` with the type, which gets its ids. Raises 42710 if there is a type of that name."""
    check_new_type_name(state, new.schema_name, new.name)
    allocate = IdAllocator(state.next_id)
    type_id, array_id, relation_id = allocate(), allocate(), allocate()
    made = replace(new, type_id=type_id, array_id=array_id, relation_id=relation_id)
    made = replace(made, database_id=state.catalog.database_id)
    return with_type(replace(state, next_id=allocate.next_id), made)


def with_attributes(state: MetaState, found: CompositeDesc, altered: CompositeDesc) -> MetaState:
    """`state` with other attributes of the type. Raises FeatureNotSupported if something has a value of it."""
    if altered == found:
        return state
    for relation, column in columns_of(state, found):
        message = f'cannot alter type "{found.name}" because column "{relation.name}.{column}" uses it'
        raise FeatureNotSupported(message)
    for user in (*dependents(state, found), *types_needing(state, found)):
        message = f'cannot alter type "{found.name}" because {user.noun} "{user.name}" uses it'
        raise FeatureNotSupported(message, hint="Drop it, alter the type, and create it again.")
    return with_type(state, altered)
