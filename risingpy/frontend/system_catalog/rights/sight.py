"""What information_schema shows to whom: what one owns or has rights on, as the standard and PostgreSQL say."""

from __future__ import annotations

from risingpy.frontend.system_catalog.system_relation import SystemState
from risingpy.frontend.system_catalog.visible_columns import visible_columns
from risingpy.plan.catalog import ColumnDesc, Relation
from risingpy.plan.catalog.acl import OF_COLUMNS, OF_RELATIONS, Privilege
from risingpy.plan.catalog.rights import column_of, owns, privileges_of, securable

# Those who may only read a table do not see its constraints.
_BUT_SELECT = OF_RELATIONS & ~Privilege.SELECT
_OF_COLUMNS_BUT_SELECT = OF_COLUMNS & ~Privilege.SELECT


def is_owner(state: SystemState, found: Relation) -> bool:
    """Whether the session has the rights of a relation's owner."""
    return owns(state.catalog, state.role_id, found.owner)


def may(state: SystemState, found: Relation, among: Privilege = OF_RELATIONS) -> bool:
    """Whether it has one of these rights on a relation."""
    return bool(privileges_of(state.catalog, state.role_id, securable(state.catalog, found)) & among)


def may_on(state: SystemState, found: Relation, column: ColumnDesc, among: Privilege = OF_COLUMNS) -> bool:
    """Whether it has one of these rights on a column, which was granted on the column alone."""
    on = column_of(found, column.column_id)
    return bool(found.column_acls) and bool(privileges_of(state.catalog, state.role_id, on) & among)


def sees_constraints(state: SystemState, found: Relation) -> bool:
    """Whether it owns a relation, or may do more with it, or with a column of it, than read."""
    of_columns = (may_on(state, found, column, _OF_COLUMNS_BUT_SELECT) for _, column in visible_columns(found))
    return is_owner(state, found) or may(state, found, _BUT_SELECT) or any(of_columns)


def sees_column(state: SystemState, found: Relation, column: ColumnDesc) -> bool:
    """Whether it owns a relation, or has a right on a column of it."""
    return is_owner(state, found) or may(state, found, OF_COLUMNS) or may_on(state, found, column)
