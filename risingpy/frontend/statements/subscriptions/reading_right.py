"""The right of a SUBSCRIBE that runs to what it reads. A REVOKE takes it away from the next rows on."""

from __future__ import annotations

from collections.abc import Callable

from risingpy.frontend.binder.scope.uses import check_reads
from risingpy.frontend.parser.ast import ObjectName, Query
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.describe import named_relation
from risingpy.frontend.statements.rights.checks import check_allowed
from risingpy.frontend.statements.subscriptions.subscription import followed_relation
from risingpy.frontend.statements.subscriptions.view_of_query import bound_query
from risingpy.plan.catalog import Catalog, FollowedRelation, Subscription
from risingpy.plan.catalog.acl import Privilege


class ReadingRight:
    """Asked before all rows that a client gets, and looked up only when the catalog has changed."""

    def __init__(self, catalog: Callable[[], Catalog], look_up: Callable[[Catalog], None]) -> None:
        self._catalog = catalog
        self._look_up = look_up
        self._allowed_at: int | None = None  # the version of the catalog

    def check(self) -> None:
        """Raises InsufficientPrivilege if the right is gone. What is dropped is not its concern."""
        catalog = self._catalog()
        if catalog.version != self._allowed_at:
            self._look_up(catalog)
            self._allowed_at = catalog.version


def reading_right(session: StatementContext, target: ObjectName | Query) -> ReadingRight:
    """That of the session's role to a relation, or to what a query names. Raises what binding the target does."""

    def catalog() -> Catalog:
        return session.database.reads.catalog

    if isinstance(target, Query):
        query, role_id = bound_query(session, target).query, session.identity.current_id

        def look_up(now: Catalog) -> None:
            check_reads(now, role_id, query.reads, query.functions)

        return ReadingRight(catalog, look_up)
    relation_id = subscribed_relation(session, target).relation_id

    def look_up_relation(now: Catalog) -> None:
        found = now.relations.get(relation_id)
        if found is not None:
            check_allowed(session, found, Privilege.SELECT)

    return ReadingRight(catalog, look_up_relation)


def subscribed_relation(session: StatementContext, name: ObjectName) -> Subscription | FollowedRelation:
    """The subscription, or what can be followed without one. Raises InsufficientPrivilege without SELECT on it."""
    relation = named_relation(session, name)
    if not isinstance(relation, Subscription):
        return followed_relation(session, name)
    check_allowed(session, relation, Privilege.SELECT)
    return relation
