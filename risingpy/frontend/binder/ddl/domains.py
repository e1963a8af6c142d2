"""CREATE DOMAIN, and the rules that ALTER DOMAIN changes, bound to the value that they are about: VALUE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.frontend.binder.ddl.create import bound_default
from risingpy.frontend.binder.ddl.named_sequences import default_context, stored_default
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.columns import relation_scope
from risingpy.frontend.binder.scope.context import SessionValues, depth_limited, refuse_system
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.trees import begin_of
from risingpy.frontend.binder.typing.collations import check_collation
from risingpy.frontend.binder.typing.domain_names import domain_named
from risingpy.frontend.binder.typing.names_of_types import Edit, edited, full_type_name, type_edits
from risingpy.frontend.binder.typing.type_names import is_text_name, resolve_type
from risingpy.frontend.parser.ast import CreateDomain, Expression
from risingpy.frontend.parser.ast_constraints import CheckDefinition
from risingpy.plan.catalog import Catalog, CheckConstraint, DomainDesc
from risingpy.plan.catalog.free_names import free_name
from risingpy.plan.logical import Field
from risingpy.types import SqlType
from risingpy.types.system_types import is_of_system

_VALUE = "value"


@depth_limited
def bind_domain(
    statement: CreateDomain, schema_name: str, catalog: Catalog, search_path: Sequence[str], session: SessionValues
) -> DomainDesc:
    """The domain in its schema, without ids.

    Raises SqlError for a type that can be below no domain, and for rules that are not about VALUE alone.
    """
    context = make_context(catalog.only_types(), search_path, (), session)
    text, position = statement.type.text, statement.type.position
    base = resolve_type(text, position, context.types)
    if is_of_system(base):
        message = f'"{base.name}" is not a valid base type for a domain'
        raise SqlError(message, sqlstate="42804", position=position)
    parent = domain_named(text, context.types)
    if parent is not None and parent.dimensions(base):
        raise FeatureNotSupported("a domain over an array of a domain is not supported", position=position)
    if statement.collation is not None:
        check_collation(statement.collation.name, base, statement.collation.position)
    default = None
    if statement.default is not None:
        default = bind_domain_default(statement.default, statement.name.name, base, catalog, search_path, session)
    checks: list[CheckConstraint] = []
    for definition in statement.checks:
        checks.append(bind_domain_check(definition, statement.name.name, base, checks, catalog, search_path, session))
    as_text = is_text_name(text) if parent is None else False
    return DomainDesc(
        *(0, 0, schema_name, statement.name.name, base, parent, as_text, statement.not_null, default, tuple(checks))
    )


def bind_domain_default(
    default: Expression, name: str, base: SqlType, catalog: Catalog, search_path: Sequence[str], session: SessionValues
) -> str:
    """The text of a domain's DEFAULT, as it is stored. Raises FeatureNotSupported if it takes numbers of a sequence."""
    context = default_context(catalog, search_path, session)
    bound = bound_default(context, default, name, base)
    text, sequences = stored_default(context, default, bound)
    if sequences:
        message = "a DEFAULT of a domain that takes numbers of a sequence is not supported"
        raise FeatureNotSupported(message, position=default.position, hint="Give the columns this DEFAULT.")
    return text


def bind_domain_check(
    definition: CheckDefinition,
    name: str,
    base: SqlType,
    others: Sequence[CheckConstraint],
    catalog: Catalog,
    search_path: Sequence[str],
    session: SessionValues,
) -> CheckConstraint:
    """A CHECK of the domain called `name`, which has `others` already. VALUE is `InputRef(0)`."""
    context = make_context(catalog.only_types(), search_path, (), session)
    context = replace(context, subqueries=None)
    scope = relation_scope(_VALUE, None, [Field(_VALUE, base)])
    places = _places_of_value(definition.expression)
    types = type_edits(
        definition.expression.text,
        definition.expression.tree,
        context.types,
        full_type_name,
        definition.expression.position,
    )
    expression = ExpressionBinder(context, scope, "check constraints").condition(definition.expression.tree, "CHECK")
    refuse_system(context.system_uses, "a check constraint")
    taken = {each.name for each in others}
    if definition.name is None:
        chosen = free_name(name, "", "check", lambda each: each in taken)
    elif definition.name.name in taken:
        message = f'constraint "{definition.name.name}" for domain "{name}" already exists'
        raise SqlError(message, sqlstate="42710", position=definition.name.position)
    else:
        chosen = definition.name.name
    text = edited(definition.expression.text, [*types, *places])
    return CheckConstraint(0, chosen, text, expression, not definition.not_valid)


def _places_of_value(expression: Expression) -> list[Edit]:
    """The edits that write VALUE in capitals, as PostgreSQL shows it."""
    edits = []
    for column in expression.tree.find_all(exp.Column):
        start = begin_of(column) - expression.position
        end = start + len(_VALUE)
        if expression.text[start:end].lower() == _VALUE:
            edits.append((start, end, "VALUE"))
    return edits
