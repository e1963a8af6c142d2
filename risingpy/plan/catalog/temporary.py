"""Temporary relations: those of a session, and those that a statement makes for itself while it runs.

What a session creates as temporary stands in a schema of its own, pg_temp_N, which goes with it. A session finds that
schema on its search path, and calls it pg_temp, too. Nothing but the schema says that a relation is temporary.
"""

from __future__ import annotations

from risingpy.plan.catalog.relations import MaterializedView, Relation, Subscription

OWN_TEMPORARY_SCHEMA = "pg_temp"
"""What a session calls its temporary schema."""
_PREFIX = "pg_temp_"


def temporary_schema(number: int) -> str:
    """The name of the temporary schema of the session with this number, of which no other open session has it."""
    return f"{_PREFIX}{number}"


def is_temporary_schema(schema: str) -> bool:
    """Whether a schema is that of a session. No statement can create one of such a name."""
    return schema.startswith(_PREFIX)


def is_of_session(relation: Relation) -> bool:
    """Whether a session has created it as temporary."""
    return is_temporary_schema(relation.schema_name)


def is_temporary(relation: Relation) -> bool:
    """Whether a statement that runs has made it for itself: no list of relations shows it, and no DROP minds it."""
    return isinstance(relation, MaterializedView | Subscription) and relation.is_temporary
