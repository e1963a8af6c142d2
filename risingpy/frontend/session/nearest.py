"""How a session's queries ask indexes of vectors."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.batch.reads import FindsNearest
from risingpy.frontend.statement_context import StatementContext


def finds_nearest(session: StatementContext) -> FindsNearest:
    """Searches with the session's hnsw.ef_search."""

    def find(index_id: int, vector: bytes, count: int) -> Sequence[tuple[object, ...]] | None:
        candidates = int(session.settings.get("hnsw.ef_search"))
        return session.database.vector_indexes.nearest(index_id, vector, count, candidates)

    return find
