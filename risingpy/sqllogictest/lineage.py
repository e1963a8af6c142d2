"""Finds the earliest place in a file where a query's view can be made: right after its tables exist.

Names decide: a query needs each relation of the file that it names, and, through views, those that they name.
A column that shares a relation's name makes a view later than it could be, never wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from risingpy.sqllogictest.answers import ViewOfQuery, in_transaction_after
from risingpy.sqllogictest.records import AnyRecord, QueryRecord, StatementRecord
from risingpy.sqllogictest.sql_text import defined_relation, names


def creation_points(
    records: Sequence[AnyRecord], view_queries: dict[int, int], labels: frozenset[str]
) -> tuple[dict[int, list[ViewOfQuery]], list[QueryRecord]]:
    """For each statement's index the views to make after it, and the queries that name no relation of the file.

    A relation that is altered, or dropped and made again, counts from the last such statement on.
    """
    definitions: dict[str, int] = {}
    depends_on: dict[str, frozenset[str]] = {}
    points: dict[int, list[ViewOfQuery]] = {}
    homeless: list[QueryRecord] = []
    in_transaction = False
    for index, record in enumerate(records):
        if not record.runs_under(labels):
            continue
        if isinstance(record, StatementRecord) and record.error is None:
            in_transaction = in_transaction_after(record.sql, in_transaction)
            relation = defined_relation(record.sql)
            # Inside a transaction block no view can be made; what it defines has no point of its own.
            if relation is not None and not in_transaction:
                definitions[relation] = index
                depends_on[relation] = names(record.sql) - {relation}
        elif isinstance(record, QueryRecord) and index in view_queries:
            point = _latest_definition(names(record.sql), definitions, depends_on)
            if point is None:
                homeless.append(record)
            else:
                points.setdefault(point, []).append(ViewOfQuery(index, record, view_queries[index]))
    return points, homeless


def _latest_definition(
    wanted: Iterable[str], definitions: dict[str, int], depends_on: dict[str, frozenset[str]]
) -> int | None:
    latest: int | None = None
    seen: set[str] = set()
    left = list(wanted)
    while left:
        name = left.pop()
        if name in seen or name not in definitions:
            continue
        seen.add(name)
        latest = max(latest if latest is not None else -1, definitions[name])
        left.extend(depends_on[name])
    return latest
