"""How the CREATE of a job reads its upstreams' rows, by the session's settings, and what it tells meanwhile."""

from __future__ import annotations

from risingpy.frontend.job_progress import progress_text
from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.schema.jobs.created_jobs import Creation, Tell


def creation_of(session: StatementContext, limit: int | None = None) -> Creation:
    """What `background_ddl` and `backfill_rate_limit` say; the statement may say another `limit`."""
    setting = session.settings.get("backfill_rate_limit")
    if limit is None and setting != "default":
        limit = int(setting)
    return Creation(
        in_background=session.settings.get("background_ddl") == "true",
        limit=limit,
        tell=progress_notices(session),
    )


def progress_notices(session: StatementContext) -> Tell:
    """Tells the client, while its statement waits, how far a job is, if it is farther than it was told last."""
    told: dict[int, str] = {}

    def tell(relation_id: int) -> None:
        for job in session.database.introspection.ddl_progress():
            text = progress_text(job)
            if job.relation.relation_id == relation_id and told.get(relation_id) != text:
                told[relation_id] = text
                session.tell(f"{job.relation.noun} {job.relation.name}: {text}")

    return tell
