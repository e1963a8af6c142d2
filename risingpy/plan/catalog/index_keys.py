"""The keys of an index as expressions over the columns of the relation that it indexes, by their positions.

INDEX (lower(a)) WHERE b   =>   key_expressions: lower(a)   keys_if_indexed: CASE WHEN b THEN lower(a) END
"""

from __future__ import annotations

from risingpy.plan.catalog.index_definition import IndexDefinition
from risingpy.plan.catalog.relations import IndexedRelation
from risingpy.plan.expression_trees import remapped
from risingpy.plan.expressions import Case, Expr, Literal


def key_expressions(definition: IndexDefinition, indexed: IndexedRelation) -> list[Expr]:
    """The keys of a row that the index has."""
    places = {column.column_id: place for place, column in enumerate(indexed.columns)}
    return [remapped(key.expression, places) for key in definition.keys]


def keys_if_indexed(definition: IndexDefinition, indexed: IndexedRelation) -> list[Expr]:
    """The same of any row. Those that a partial index has not have NULLs: their keys are not computed, nor can fail."""
    keys, is_there = key_expressions(definition, indexed), predicate_of(definition, indexed)
    return keys if is_there is None else [Case(((is_there, key),), Literal(None, key.type), key.type) for key in keys]


def predicate_of(definition: IndexDefinition, indexed: IndexedRelation) -> Expr | None:
    """For which rows a partial index is; None: for all."""
    if definition.predicate is None:
        return None
    places = {column.column_id: place for place, column in enumerate(indexed.columns)}
    return remapped(definition.predicate.expression, places)
