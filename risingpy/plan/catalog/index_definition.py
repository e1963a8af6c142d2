"""What CREATE INDEX says of an index: its keys, what it has besides, and which rows it has."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.plan.catalog.constraints import UniqueRule
from risingpy.plan.expressions import Expr


@dataclass(frozen=True, slots=True)
class IndexKey:
    """What an index is ordered by. The expression's `InputRef`s count by column id of the indexed relation."""

    text: str
    expression: Expr
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class IndexPredicate:
    """WHERE of a partial index, which has those rows for which the expression is true. Its parts are as in IndexKey."""

    text: str
    expression: Expr


@dataclass(frozen=True, slots=True)
class NearestRule:
    """What an hnsw index of vectors finds: those with the least `distance`, the canonical name of a function.

    `connectivity` is its m, the links of a vector; `construction` its ef_construction, how many candidates for them are
    looked at.
    """

    distance: str
    connectivity: int = 16
    construction: int = 64


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """An index of a table or materialized view.

    `include` are ids of columns that it has besides (None: all of them, also those to come). Its rows are spread by
    the first `distributed_by` keys. With `unique`, no two rows of the table have the same keys. One with `nearest` is
    of vectors: its one key is their column, and its rows are ordered by the relation's stream key. With a `predicate`
    it is partial: `unique` is said of its rows only.
    """

    relation_id: int
    keys: tuple[IndexKey, ...]
    include: tuple[int, ...] | None = None
    distributed_by: int = 1
    unique: UniqueRule | None = None
    nearest: NearestRule | None = None
    predicate: IndexPredicate | None = None
