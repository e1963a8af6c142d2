"""Takes the outermost ORDER BY off a query, for those who keep its order in another way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from risingpy.plan import logical
from risingpy.plan.expressions import InputRef
from risingpy.plan.logical import Field, SortKey


@dataclass(frozen=True, slots=True)
class OrderedQuery:
    """A query without its outermost ORDER BY, whose `keys` are positions in the query's output.

    Only the first `width` columns are the query's own: those behind are there for the ORDER BY.
    """

    query: logical.LogicalPlan
    width: int
    keys: tuple[SortKey, ...] = ()
    decides_rows: bool = False  # the ORDER BY, through a LIMIT


def split_order(query: logical.LogicalPlan) -> OrderedQuery:
    """Takes the outermost Sort off, also from under the Project that drops its hidden sort columns.

    Under a LIMIT it stays, and orders the storage too.
    """
    width = len(query.schema)
    match query:
        case logical.Sort(input, keys):
            return OrderedQuery(input, width, keys)
        case logical.Limit(logical.Sort(_, keys)):
            return OrderedQuery(query, width, keys, decides_rows=True)
        case logical.Project(logical.Sort() | logical.Limit(logical.Sort()) as below, expressions, schema):
            sort = below.input if isinstance(below, logical.Limit) else below
            assert isinstance(sort, logical.Sort)
            keys, decides_rows = sort.keys, below is not sort
            input = below if decides_rows else sort.input
            hidden = [InputRef(key.index, input.schema[key.index].type) for key in keys]
            outputs = [*expressions, *(ref for ref in dict.fromkeys(hidden) if ref not in expressions)]
            extra = [Field(input.schema[e.index].name, e.type, hidden=True) for e in hidden if e not in expressions]
            moved = [replace(key, index=outputs.index(ref)) for key, ref in zip(keys, hidden, strict=True)]
            all_fields = (*schema, *dict.fromkeys(extra))
            ordered = logical.Project(input, tuple(outputs), all_fields)
            return OrderedQuery(ordered, width, tuple(moved), decides_rows)
        case _:
            return OrderedQuery(query, width)
