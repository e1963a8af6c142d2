"""The order of objects: each after all that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter

from risingpy.plan.catalog import (
    Catalog,
    CreatedRelation,
    FunctionDesc,
    MaterializedView,
    NumberSequence,
    Sink,
    Subscription,
    Table,
    View,
)
from risingpy.plan.catalog.temporary import is_temporary, is_temporary_schema

Described = CreatedRelation | FunctionDesc


def ordered_objects(catalog: Catalog) -> list[Described]:
    """All relations and functions of all databases. Of two that do not need each other, the older one is first.

    Ids grow with time, but a view that was replaced, or a default that was set later, may need what is younger.
    Foreign keys do not count, since they are added when all tables are there.
    """
    everything = _everything(catalog)
    sorter = TopologicalSorter[int]({key: sorted(_needs(everything, each)) for key, each in everything.items()})
    return [everything[key] for key in _oldest_first(sorter)]


def _everything(catalog: Catalog) -> dict[int, Described]:
    relations = {key: each for key, each in catalog.relations.items() if not _is_of_a_session(each)}
    found: dict[int, Described] = {**relations, **catalog.functions}
    return dict(sorted(found.items()))


def _is_of_a_session(found: CreatedRelation) -> bool:
    if isinstance(found, Subscription) and found.kept_for is not None:
        return True
    return is_temporary(found) or is_temporary_schema(found.schema_name)


def _oldest_first(sorter: TopologicalSorter[int]) -> Iterable[int]:
    sorter.prepare()
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        yield from ready
        sorter.done(*ready)


def _needs(everything: Mapping[int, Described], found: Described) -> set[int]:
    needed: set[int] = set()
    match found:
        case FunctionDesc():
            needed = {key for key, each in everything.items() if key != found.function_id and _is_named(each, found)}
        case NumberSequence():
            needed = set()
        case Table():
            needed = {*found.depends_on, *(key for column in found.columns for key in column.sequences)}
        case MaterializedView() | View() | Sink():
            needed = {*found.depends_on, *found.functions}
        case _:
            needed = set(found.depends_on)
    return needed & everything.keys()


def _is_named(other: Described, function: FunctionDesc) -> bool:
    """Whether a function's body may call `other`, an older function: nothing says so but its text."""
    return isinstance(other, FunctionDesc) and other.function_id < function.function_id and other.name in function.body
