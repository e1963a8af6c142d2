"""Removes the outermost ORDER BY from a query, for callers that keep the order in another way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from risingpy.plan import logical
from risingpy.plan.expressions import InputRef
from risingpy.plan.logical import Field, SortKey


@dataclass(frozen=True, slots=True)
class OrderedQuery:
    """A query without its outermost ORDER BY, whose `keys` are positions in the query's output.

    Only the first `width` columns are the query's own. Those after them are there for the ORDER BY.
    """

    query: logical.LogicalPlan
    width: int
    keys: tuple[SortKey, ...] = ()
    decides_rows: bool = False  # a LIMIT makes the ORDER BY decide which rows there are


def split_order(query: logical.LogicalPlan) -> OrderedQuery:
    """Removes the outermost Sort, also one below the Project that drops its hidden sort columns.

    Under a LIMIT the Sort stays, and its keys are returned, too.
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
