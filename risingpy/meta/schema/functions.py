"""CREATE and DROP of functions, aggregates and procedures: from one `MetaState` to the next, as in `relations.py`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from risingpy.errors import DependentObjectsStillExist, SqlError, UndefinedFunction, UndefinedObject
from risingpy.meta.durable_state import without_relation
from risingpy.meta.schema.relations import with_all_readers
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.plan.catalog import FunctionDesc, QueryRelation, Sink
from risingpy.plan.catalog.functions import shown_type, type_key
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.meta.schema.commands import SchemaCommands


@dataclass(frozen=True, slots=True)
class FunctionTarget:
    """A function that DROP names; without `argument_types` it must be the only one of its name.

    `noun`: function, aggregate, procedure, or routine, which is any of them.
    """

    schema_name: str | None
    name: str
    argument_types: tuple[SqlType, ...] | None
    search_path: tuple[str, ...]
    noun: str = "function"

    @property
    def shown(self) -> str:
        types = self.argument_types or ()
        return f"{self.name}({','.join(map(shown_type, types))})"


def create_function(
    ddl: SchemaCommands,
    function: FunctionDesc,
    *,
    or_replace: bool,
    if_not_exists: bool,
    cancelled: threading.Event | None = None,
) -> bool:
    """Creates a function; False if it exists and `if_not_exists`."""
    made: list[bool] = []

    def add(state: MetaState) -> MetaState:
        after, created = add_function(state, function, or_replace=or_replace, if_not_exists=if_not_exists)
        made[:] = [created]
        return after

    ddl.change(add, cancelled)
    return made[0]


def drop(
    ddl: SchemaCommands,
    targets: Sequence[FunctionTarget],
    *,
    if_exists: bool,
    cascade: bool,
    cancelled: threading.Event | None = None,
) -> tuple[str, ...]:
    """Drops functions; returns notices."""
    notices: list[str] = []

    def change(state: MetaState) -> MetaState:
        after, said = drop_functions(state, targets, if_exists=if_exists, cascade=cascade)
        notices[:] = said
        return after

    ddl.change(change, cancelled)
    return tuple(notices)


def add_function(
    state: MetaState, function: FunctionDesc, *, or_replace: bool, if_not_exists: bool
) -> tuple[MetaState, bool]:
    """(`state` with the function, whether it was made); the id in `function` is not used. Raises 42723."""
    if function.schema_name not in state.catalog.schemas:
        raise UndefinedObject(f'schema "{function.schema_name}" does not exist', sqlstate="3F000")
    existing = _same(state, function.name, function.schema_name, function.argument_types)
    if existing is not None and if_not_exists:
        return state, False
    if existing is not None and not or_replace:
        message = f'function "{function.name}" already exists with same argument types'
        raise SqlError(message, sqlstate="42723")
    if existing is not None:
        _check_replaces(existing, function)
    allocate = IdAllocator(state.next_id)
    if existing is None:
        function = replace(function, function_id=allocate())
    else:
        function = replace(function, function_id=existing.function_id, owner=existing.owner, acl=existing.acl)
        function = replace(function, database_id=existing.database_id)
    functions = {**state.catalog.functions, function.function_id: function}
    return _with_functions(replace(state, next_id=allocate.next_id), functions), True


def _check_replaces(existing: FunctionDesc, function: FunctionDesc) -> None:
    """Calls of the one must be calls of the other. Raises 42809 for another kind, else 42P13."""
    hint = f"Use DROP {existing.noun.upper()} {existing.shown} first."
    if existing.noun != function.noun:
        detail = f'"{existing.name}" is {_a(existing.noun)}.'
        raise SqlError("cannot change routine kind", sqlstate="42809", detail=detail)
    if (existing.kind, existing.result) != (function.kind, function.result):
        raise SqlError("cannot change return type of existing function", sqlstate="42P13", hint=hint)
    for old, new in zip(existing.argument_names, function.argument_names, strict=True):
        if old and old != new:
            raise SqlError(f'cannot change name of input parameter "{old}"', sqlstate="42P13", hint=hint)
    if len(function.argument_defaults) < len(existing.argument_defaults):
        message = "cannot remove parameter defaults from existing function"
        raise SqlError(message, sqlstate="42P13", hint=hint)


def drop_functions(
    state: MetaState, targets: Sequence[FunctionTarget], *, if_exists: bool, cascade: bool
) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` without the functions, notices). Raises 2BP01 if a view calls one of them, unless `cascade`."""
    notices: list[str] = []
    for target in targets:
        function = find_function(state, target)
        if function is None:
            if not if_exists:
                shown = target.shown if target.argument_types is not None else f'"{target.name}"'
                if target.argument_types is None:
                    raise UndefinedFunction(f"could not find {_a(target.noun)} named {shown}")
                raise UndefinedFunction(f"{target.noun} {shown} does not exist")
            notices.append(f"{target.noun} {target.name}() does not exist, skipping")
            continue
        callers = _callers(state, function)
        if callers and not cascade:
            raise DependentObjectsStillExist(
                f"cannot drop {function.noun} {function.shown} because other objects depend on it",
                detail="\n".join(f"{r.noun} {r.name} depends on {function.noun} {function.shown}" for r in callers),
                hint="Use DROP ... CASCADE to drop the dependent objects too.",
            )
        notices += (f"drop cascades to {r.noun} {r.name}" for r in reversed(with_all_readers(state, callers)))
        state = without_function(state, function)
    return state, tuple(notices)


def without_function(state: MetaState, function: FunctionDesc) -> MetaState:
    """`state` without a function, and without what calls it, in whatever database."""
    for relation in with_all_readers(state, _callers(state, function)):
        state = without_relation(state, relation)
    functions = {k: f for k, f in state.catalog.functions.items() if k != function.function_id}
    return _with_functions(state, functions)


def _callers(state: MetaState, function: FunctionDesc) -> list[QueryRelation | Sink]:
    views = (r for r in state.catalog.relations.values() if isinstance(r, QueryRelation | Sink))
    return [view for view in views if function.function_id in view.functions]


def find_function(state: MetaState, target: FunctionTarget) -> FunctionDesc | None:
    """The function that ALTER or DROP names. Raises SqlError if it is of another kind, or one of several."""
    found = _find(state, target)
    if found is not None:
        _check_kind(found, target)
    return found


def targets_of(state: MetaState, targets: Sequence[FunctionTarget]) -> list[FunctionDesc]:
    """The functions that DROP names and that exist."""
    return [found for found in (_find(state, target) for target in targets) if found is not None]


def same_functions(state: MetaState, function: FunctionDesc) -> list[FunctionDesc]:
    """What CREATE OR REPLACE puts `function` in the place of: one or none."""
    found = _same(state, function.name, function.schema_name, function.argument_types)
    return [] if found is None else [found]


def _a(noun: str) -> str:
    return f"{'an' if noun[0] == 'a' else 'a'} {noun}"


def _check_kind(function: FunctionDesc, target: FunctionTarget) -> None:
    """Raises 42809 if DROP FUNCTION names an aggregate, DROP PROCEDURE a function, and so on."""
    if target.noun in (function.noun, "routine"):
        return
    if target.noun == "aggregate":
        raise SqlError(f"function {function.shown} is not an aggregate function", sqlstate="42809")
    if function.noun == "aggregate" and target.noun == "function":
        hint = "Use DROP AGGREGATE to drop aggregate functions."
        raise SqlError(f"{function.shown} is an aggregate function", sqlstate="42809", hint=hint)
    raise SqlError(f"{function.shown} is not a {target.noun}", sqlstate="42809")


def _find(state: MetaState, target: FunctionTarget) -> FunctionDesc | None:
    found = state.catalog.functions_named(target.name, target.schema_name, target.search_path)
    if target.argument_types is None:
        if len(found) > 1:
            hint = "Specify the argument list to select the function unambiguously."
            raise SqlError(f'function name "{target.name}" is not unique', sqlstate="42725", hint=hint)
        return found[0] if found else None
    kinds = [type_key(t) for t in target.argument_types]
    return next((f for f in found if [type_key(t) for t in f.argument_types] == kinds), None)


def _same(state: MetaState, name: str, schema: str, types: Sequence[SqlType]) -> FunctionDesc | None:
    return _find(state, FunctionTarget(schema, name, tuple(types), ()))


def _with_functions(state: MetaState, functions: dict[int, FunctionDesc]) -> MetaState:
    catalog = replace(state.catalog, version=state.catalog.version + 1, functions=functions)
    return replace(state, catalog=catalog)
