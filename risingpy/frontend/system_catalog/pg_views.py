"""pg_tables, pg_views, pg_matviews, and the rewrite rules and dependencies by which clients find a view's relations."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import relation_oid, rule_oid
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import Index, MaterializedView, QueryRelation, Sink, Subscription, Table, View


def with_query(state: SystemState) -> Iterable[QueryRelation]:
    """The views of both kinds."""
    return (found for found in state.relations if isinstance(found, QueryRelation))


def _tables(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        if isinstance(found, Table):
            yield (
                found.schema_name,
                found.name,
                state.role_name(found.owner),
                None,
                bool(found.primary_key),
                False,
                False,
                False,
            )


def _views(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        if isinstance(found, View):
            yield found.schema_name, found.name, state.role_name(found.owner), state.view_text(found, False)


def _matviews(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        if isinstance(found, MaterializedView):
            populated = not found.is_being_created
            yield (
                found.schema_name,
                found.name,
                state.role_name(found.owner),
                None,
                False,
                populated,
                state.view_text(found, False),
            )


def _view_texts(state: SystemState) -> Iterable[Row]:
    for found in with_query(state):
        yield relation_oid(found), state.view_text(found, False)


def _pretty_view_texts(state: SystemState) -> Iterable[Row]:
    for found in with_query(state):
        yield relation_oid(found), state.view_text(found, True)


def _rules(state: SystemState) -> Iterable[Row]:
    for found in with_query(state):
        yield rule_oid(found), "_RETURN", relation_oid(found), "1", "O", True, None, None


def _rw_depend(state: SystemState) -> Iterable[Row]:
    """What each relation reads, or, for a sink, also the table that it writes to."""
    followers: tuple[Index | Sink | Subscription, ...] = (
        *(index for index, _ in state.indexes),
        *state.sinks,
        *state.subscriptions,
    )
    for found in (*state.relations, *followers):
        for needed in found.depends_on:
            yield found.relation_id, needed


PG_TABLES = relation(
    "pg_catalog",
    "pg_tables",
    "schemaname name, tablename name, tableowner name, tablespace name, hasindexes bool, hasrules bool,"
    "hastriggers bool, rowsecurity bool",
    _tables,
)
PG_VIEWS = relation("pg_catalog", "pg_views", "schemaname name, viewname name, viewowner name, definition text", _views)
PG_MATVIEWS = relation(
    "pg_catalog",
    "pg_matviews",
    "schemaname name, matviewname name, matviewowner name, tablespace name, hasindexes bool, ispopulated bool,"
    "definition text",
    _matviews,
)
PG_REWRITE = relation(
    "pg_catalog",
    "pg_rewrite",
    "oid oid, rulename name, ev_class oid, ev_type char, ev_enabled char, is_instead bool, ev_qual text,ev_action text",
    _rules,
)
# The texts of pg_get_viewdef.
VIEW_TEXTS = relation("risingpy", "rp_view_texts", "rp_oid oid, rp_definition text", _view_texts)
PRETTY_VIEW_TEXTS = relation("risingpy", "rp_pretty_view_texts", "rp_oid oid, rp_definition text", _pretty_view_texts)
RW_DEPEND = relation("rw_catalog", "rw_depend", "objid int4, refobjid int4", _rw_depend)
