"""The binder: from parsed statements to typed logical plans, against one snapshot of the catalog.

In: `parser.ast` statements and an immutable `Catalog`. Out: `LogicalPlan`s with every type and implicit cast made
explicit. Called by the session's statements. sqlglot's trees end here.
"""

from risingpy.frontend.binder.column_limits import check_relation
from risingpy.frontend.binder.ddl.alter import BoundAlterTable, bind_alter_table
from risingpy.frontend.binder.ddl.alter_constraints import RowCheck
from risingpy.frontend.binder.ddl.composites import altered_attributes, bind_composite
from risingpy.frontend.binder.ddl.create import (
    BoundView,
    TableDefinition,
    bind_default,
    bind_stored_plan,
    bind_table,
    bind_view,
    check_column_name,
)
from risingpy.frontend.binder.ddl.domains import bind_domain, bind_domain_check, bind_domain_default
from risingpy.frontend.binder.ddl.index import BoundIndex, bind_index
from risingpy.frontend.binder.ddl.primary_key import BoundPrimaryKey, bind_primary_key, with_primary_key
from risingpy.frontend.binder.ddl.source_column import bind_source_column
from risingpy.frontend.binder.dml.copy import CopyTarget, bind_copy_target
from risingpy.frontend.binder.dml.insert import BoundInsert, bind_insert
from risingpy.frontend.binder.dml.into_table import RowsForTable, bind_rows_for_table
from risingpy.frontend.binder.dml.merge import BoundMerge, bind_merge
from risingpy.frontend.binder.dml.rewrite import BoundRewrite, bind_delete, bind_update
from risingpy.frontend.binder.query.arguments import bind_arguments
from risingpy.frontend.binder.query.query import BoundQuery, bind_query
from risingpy.frontend.binder.scope.context import SessionValues, SetConfig

__all__ = [
    "BoundAlterTable",
    "BoundIndex",
    "BoundInsert",
    "BoundMerge",
    "BoundPrimaryKey",
    "BoundQuery",
    "BoundRewrite",
    "BoundView",
    "CopyTarget",
    "RowCheck",
    "RowsForTable",
    "SessionValues",
    "SetConfig",
    "TableDefinition",
    "altered_attributes",
    "bind_alter_table",
    "bind_arguments",
    "bind_composite",
    "bind_copy_target",
    "bind_default",
    "bind_delete",
    "bind_domain",
    "bind_domain_check",
    "bind_domain_default",
    "bind_index",
    "bind_insert",
    "bind_merge",
    "bind_primary_key",
    "bind_query",
    "bind_rows_for_table",
    "bind_source_column",
    "bind_stored_plan",
    "bind_table",
    "bind_update",
    "bind_view",
    "check_column_name",
    "check_relation",
    "with_primary_key",
]
