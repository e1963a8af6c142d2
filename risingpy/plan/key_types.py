"""Which types keys may be of, and of which of them equal values may have different keys."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.types import SqlType, TypeKind
from risingpy.types.system_types import is_json

_HINT = "Cast it to varchar, or take the parts that you need."
_NO_CLASS = "You must specify an operator class for the index or define a default operator class for the data type."


def refuse_no_key(types: Iterable[SqlType], where: str) -> None:
    """Raises FeatureNotSupported if a type cannot stand in `where`, the key of a table or of state; 42704 for json."""
    for type_ in types:
        if is_json(type_):
            message = 'data type json has no default operator class for access method "btree"'
            raise SqlError(message, sqlstate="42704", hint=_NO_CLASS)
        if not type_.is_in_keys:
            raise FeatureNotSupported(f"type {type_} in {where} is not supported", hint=_HINT)


def refuse_json(types: Iterable[SqlType], operator: str) -> None:
    """Raises 42883 if one is json, which has no `operator` (equality, ordering) in PostgreSQL either."""
    if any(_has_json(each) for each in types):
        hint = "Use an explicit ordering operator or modify the query." if operator == "ordering" else None
        message = f"could not identify an {operator} operator for type json"
        raise SqlError(message, sqlstate="42883", hint=hint)


def _has_json(type_: SqlType) -> bool:
    return is_json(type_) or any(map(_has_json, type_.items))


def refuse_unordered(types: Iterable[SqlType], where: str) -> None:
    """Raises FeatureNotSupported if a query cannot order, group or compare by a type, as it does in `where`."""
    for type_ in types:
        if not type_.is_orderable:
            raise FeatureNotSupported(f"type {type_} in {where} is not supported", hint=_HINT)


def has_other_forms(type_: SqlType) -> bool:
    """Whether equal values of the type may have different keys: `1 month` and `30 days`."""
    return type_.kind is TypeKind.INTERVAL


def is_shown_by_value(type_: SqlType) -> bool:
    """Whether a relation's key does not say how a value of the type is shown, so that the row has the value, too."""
    return type_.is_wide or type_.has_json
