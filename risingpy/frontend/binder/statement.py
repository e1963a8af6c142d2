"""The context that binding a statement begins with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.nodes import NODE_BINDERS
from risingpy.frontend.binder.scope.columns import Scope, ScopeColumn, ScopeTable
from risingpy.frontend.binder.scope.context import BindContext, CallArguments, SessionValues
from risingpy.frontend.binder.typing.parameters import Parameters
from risingpy.plan.catalog import Catalog
from risingpy.plan.expressions import Parameter
from risingpy.types import SqlType


def make_context(
    catalog: Catalog,
    search_path: Sequence[str],
    parameter_types: Sequence[SqlType] = (),
    session: SessionValues | None = None,
) -> BindContext:
    """A context over a catalog; what the client says of its parameters' types may be less than there are."""
    parameters = Parameters(parameter_types)
    context = BindContext(catalog, tuple(search_path), parameters, session or SessionValues(), NODE_BINDERS)
    return _knowing_arguments(context) if context.session.arguments else context


def _knowing_arguments(context: BindContext) -> BindContext:
    """The context of a statement in a procedure's body: what is no column may be an argument."""
    named = [(name, Parameter(i, type_)) for i, (name, type_) in enumerate(context.session.arguments, 1) if name]
    columns = tuple(ScopeColumn(name, parameter) for name, parameter in named)
    scope = Scope((ScopeTable(context.session.procedure, None, columns),), columns)
    return replace(context, outer=CallArguments(ExpressionBinder(context, scope, "a procedure's body")))
