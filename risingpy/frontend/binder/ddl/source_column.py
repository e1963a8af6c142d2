"""The column that ALTER SOURCE adds."""

from __future__ import annotations

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.binder.ddl.create import check_column_name
from risingpy.frontend.binder.ddl.identity import identity_of
from risingpy.frontend.binder.typing.domain_names import refuse_domain
from risingpy.frontend.binder.typing.type_names import KnownTypes, resolve_type
from risingpy.frontend.parser.ast import ColumnDefinition
from risingpy.plan.catalog import ColumnDesc


def bind_source_column(column: ColumnDefinition, source: str, types: KnownTypes) -> ColumnDesc:
    """A column that ALTER SOURCE adds to the source of that name: messages fill it. Its id is 0."""
    check_column_name(column)
    if column.primary_key or column.not_null or column.default is not None or column.generated is not None:
        message = "ALTER SOURCE … ADD COLUMN takes a name and a type"
        raise FeatureNotSupported(message, position=column.position)
    if identity_of(column, source) is not None:
        raise FeatureNotSupported("ALTER SOURCE … ADD an identity column is not supported", position=column.position)
    refuse_domain(column.type.text, column.type.position, types, "a source's column")
    return ColumnDesc(0, column.name, resolve_type(column.type.text, column.type.position, types))
