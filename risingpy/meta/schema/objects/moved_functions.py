"""A function under another name, or in another schema: from one `MetaState` to the next.

Plans have the function's body in them, or know it by its id, and stay. Texts that call it by its name follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from risingpy.errors import SqlError, UndefinedFunction
from risingpy.meta.schema.alter import RelationReader
from risingpy.meta.schema.functions import FunctionTarget, find_function, same_functions
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Catalog, FunctionDesc, FunctionLanguage, QueryRelation, Sink


@dataclass(frozen=True, slots=True)
class FunctionTexts:
    """How texts follow: the definition of what has moved, those of views and sinks, and bodies that call it.

    `body(function, old, new)` is the function itself if its body stays.
    """

    definition: Callable[[FunctionDesc], str]
    reader: Callable[[RelationReader, Catalog, Catalog], RelationReader]
    body: Callable[[FunctionDesc, FunctionDesc, FunctionDesc], FunctionDesc]


def required_function(state: MetaState, target: FunctionTarget) -> FunctionDesc:
    """Raises UndefinedFunction, and SqlError for one of another kind (42809) or of several of the name (42725)."""
    found = find_function(state, target)
    if found is None and target.argument_types is None:
        raise UndefinedFunction(f'could not find a {target.noun} named "{target.name}"')
    if found is None:
        raise UndefinedFunction(f"{target.noun} {target.shown} does not exist")
    return found


def moved(
    state: MetaState, target: FunctionTarget, texts: FunctionTexts, *, name: str | None, schema: str | None
) -> MetaState:
    """`state` with the function under another name, or in another schema; None: it stays."""
    old = required_function(state, target)
    new = replace(old, name=name or old.name, schema_name=schema or old.schema_name)
    if new.schema_name not in state.catalog.schemas:
        raise SqlError(f'schema "{new.schema_name}" does not exist', sqlstate="3F000")
    if new == old and name is None:
        return state
    if same_functions(state, new):
        message = f'function {new.shown} already exists in schema "{new.schema_name}"'
        raise SqlError(message, sqlstate="42723")
    new = replace(new, definition=texts.definition(new))
    before = state.catalog
    functions = {
        key: texts.body(each, old, new) if each.language is FunctionLanguage.SQL else each
        for key, each in before.functions.items()
    }
    after = replace(before, version=before.version + 1, functions={**functions, old.function_id: new})
    relations = dict(before.relations)
    for reader in before.relations.values():
        if isinstance(reader, QueryRelation | Sink) and old.function_id in reader.functions:
            views = before.seen_from(reader.database_id), after.seen_from(reader.database_id)
            relations[reader.relation_id] = texts.reader(reader, *views)
    return replace(state, catalog=replace(after, relations=relations))
