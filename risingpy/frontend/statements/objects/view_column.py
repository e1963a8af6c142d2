"""ALTER VIEW | MATERIALIZED VIEW | TABLE … RENAME COLUMN of a view."""

from __future__ import annotations

from risingpy.errors import SqlError
from risingpy.frontend.binder import check_column_name
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import ColumnName, CreateMaterializedView, CreateView
from risingpy.frontend.parser.tokenize import end_of_name
from risingpy.frontend.renamed_text import reread
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.table_definition import quoted
from risingpy.meta.schema.objects.view_columns import NewColumnName, with_renamed_column
from risingpy.plan.catalog import QueryRelation


def rename_column(session: StatementContext, view: QueryRelation, column: ColumnName, new: ColumnName) -> None:
    """Gives a view's column another name. What reads the view goes on, and its text gets the name."""
    check_column_name(new)
    change = NewColumnName(view.relation_id, column.name, new.name, _with_column_list, reread)
    try:
        session.ddl.change(lambda state: with_renamed_column(state, change), session.cancelled)
    except SqlError as error:
        error.position = {"42703": column.position, "42701": new.position}.get(error.sqlstate, error.position)
        raise


def _with_column_list(view: QueryRelation) -> str:
    """CREATE VIEW v AS …  =>  CREATE VIEW v (a, b) AS …"""
    [parsed] = parse(view.definition)
    statement, text = parsed.statement, view.definition
    assert isinstance(statement, CreateView | CreateMaterializedView)
    begin = end = end_of_name(text, statement.name.position - 1)
    if statement.column_names:
        last = end_of_name(text, statement.column_names[-1].position - 1, most=1)
        end = text.index(")", last) + 1
    names = ", ".join(quoted(column.name) for column in view.columns if not column.hidden)
    return f"{text[:begin]} ({names}){text[end:]}"
