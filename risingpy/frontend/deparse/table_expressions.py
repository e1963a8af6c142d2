"""Expressions of tables as pg_get_expr prints them: defaults, checks, generated columns and keys of indexes.

lower(name)           lower((name)::text)      of a column that is character varying
a > 0 AND a < 9       ((a > 0) AND (a < 9))
"""

from __future__ import annotations

import logging
from dataclasses import replace

from risingpy.errors import SqlError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.columns import relation_scope
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.scope.uses import RelationUse
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.deparse.catalog_names import CatalogNames
from risingpy.frontend.deparse.conversion import Conversion
from risingpy.frontend.deparse.expression_writer import ExpressionWriter
from risingpy.frontend.deparse.nodes import Name
from risingpy.frontend.deparse.notes import NotedColumn, Notes, Unprinted
from risingpy.frontend.deparse.operands import as_type, settled
from risingpy.frontend.deparse.query_writer import FORMS
from risingpy.frontend.deparse.types_shown import text_of
from risingpy.frontend.deparse.writer import Writer
from risingpy.frontend.parser.parse import parse_expression
from risingpy.plan.catalog import Catalog, Relation
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import Field
from risingpy.types import VARCHAR, SqlType
from risingpy.types.system_types import TEXT

LOG = logging.getLogger(__name__)


class _BareColumns:
    """The columns of one table, which are called by their names alone."""

    def __init__(self, relation: Relation, names: CatalogNames) -> None:
        self._types = {column.column_id: column.shown_type for column in relation.columns}
        self._names = names

    def column(self, noted: NotedColumn) -> tuple[Name, SqlType]:
        """See `Surroundings`."""
        given = noted.column
        known = self._types.get(given.column_id) if given.use is not None else None
        return Name(None, given.name), known or text_of(given.expr.type)

    def function_name(self, schema: str | None, name: str) -> str:
        """See `Surroundings`."""
        return self._names.function(schema, name)


def printed_expression(
    text: str,
    relation: Relation,
    catalog: Catalog,
    search_path: tuple[str, ...],
    wanted: SqlType | None,
    *,
    pretty: bool = False,
) -> str | None:
    """The expression over the relation's columns as PostgreSQL prints it; None if it has no such form.

    `wanted` is the type to which it is assigned. A text is given only if it would be bound to the same expression.
    """
    try:
        printed = _printed(text, relation, catalog, search_path, wanted, pretty=pretty)
        if _bound(text, relation, catalog, wanted)[0] == _bound(printed, relation, catalog, wanted)[0]:
            return printed
    except (Unprinted, SqlError) as error:
        LOG.debug('an expression of %s "%s" is shown as it was written: %s', relation.noun, relation.name, error)
        return None
    except Exception as error:  # an expression that nobody thought of: the catalog's other rows are shown all the same
        LOG.warning('cannot print (%s) of "%s" anew: %s: %s', text, relation.name, type(error).__name__, error)
        return None
    LOG.debug('an expression of %s "%s" is read as another: %s', relation.noun, relation.name, printed)
    return None


def _bound(text: str, relation: Relation, catalog: Catalog, wanted: SqlType | None) -> tuple[Expr, Notes]:
    tree = parse_expression(text).tree
    schemas = (relation.schema_name, *(each.schema_name for each in catalog.own_types))
    plain = make_context(replace(catalog.only_types(), functions=catalog.functions), tuple(dict.fromkeys(schemas)))
    notes = Notes(plain.types)
    notes.number(tree)
    context: BindContext = replace(plain, node_binders=notes.binders(plain.node_binders), subqueries=None)
    fields = [Field(column.name, column.type, column.hidden) for column in relation.columns]
    scope = relation_scope(relation.name, None, fields, relation=relation.name, use=RelationUse(relation))
    operand = ExpressionBinder(context, scope, "an expression").bind(tree)
    notes.tree = tree
    if wanted is None:
        return context.coercer.settled(operand), notes
    return context.coercer.assign(operand, VARCHAR if wanted == TEXT else wanted), notes


def _printed(
    text: str,
    relation: Relation,
    catalog: Catalog,
    search_path: tuple[str, ...],
    wanted: SqlType | None,
    *,
    pretty: bool,
) -> str:
    _, notes = _bound(text, relation, catalog, wanted)
    assert notes.tree is not None
    functions = [each for each in catalog.functions.values() if each.database_id == catalog.database_id]
    names = CatalogNames(catalog, search_path, catalog, {}, functions)
    out = Writer(pretty=pretty)

    def refuse(_tree: object) -> None:
        raise Unprinted("a subquery")

    typed = Conversion(notes, _BareColumns(relation, names), FORMS).typed(notes.tree)
    node = settled(typed).node if wanted is None or not typed.is_unknown else as_type(typed, wanted)
    ExpressionWriter(out, names.type, refuse).write(node, shows_implicit=False)
    return out.text
