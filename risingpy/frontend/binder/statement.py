"""The context that binding a statement begins with."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.frontend.binder.nodes import NODE_BINDERS
from risingpy.frontend.binder.scope.context import BindContext, SessionValues
from risingpy.frontend.binder.typing.parameters import Parameters
from risingpy.plan.catalog import Catalog
from risingpy.types import SqlType


def make_context(
    catalog: Catalog,
    search_path: Sequence[str],
    parameter_types: Sequence[SqlType] = (),
    session: SessionValues | None = None,
) -> BindContext:
    """A context over a catalog; what the client says of its parameters' types may be less than there are."""
    parameters = Parameters(parameter_types)
    return BindContext(catalog, tuple(search_path), parameters, session or SessionValues(), NODE_BINDERS)
