"""Users' types in plans, and in whatever else has types in it: which there are, and a new form in place of the old one.

A plan has all labels of the enums whose values it reads (`EnumType`), so that it can be run anywhere. When ALTER TYPE
adds a label, every plan and every column gets the new form in the same step; numbers that are stored stay as they are.
A column's history stays, too: it says how to read rows of before ALTER COLUMN TYPE, with the labels of that time.
A domain stands in columns, and in the calls that a cast to it is; both have its name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias, TypeVar

from risingpy.plan.catalog.domains import DomainType
from risingpy.plan.domain_casts import domain_of_cast, renamed_cast
from risingpy.plan.expressions import Call
from risingpy.storage.codec.table_schema import ColumnHistory
from risingpy.types.enums.composite_type import CompositeType
from risingpy.types.enums.enum_type import EnumType

Value = TypeVar("Value")
UserForm: TypeAlias = EnumType | DomainType | CompositeType
"""What columns and plans know of a type that a user has created."""


def with_form(value: Value, after: UserForm) -> Value:
    """`value` with this form of the type wherever it has another one. What has none of it stays the same object."""
    changed: Value = _Replacement(after).of(value)
    return changed


def enums_in(value: object) -> frozenset[int]:
    """The OIDs of the enums that stand in a plan, a relation, or anything that is made of types."""
    return frozenset(part.oid for part in parts_of(value) if isinstance(part, EnumType))


def types_in(value: object) -> frozenset[int]:
    """The OIDs of the types that stand there which users have created."""
    found: set[int] = set()
    for part in parts_of(value):
        if isinstance(part, EnumType | DomainType | CompositeType):
            found.add(part.oid)
        elif isinstance(part, Call) and (domain := domain_of_cast(part)) is not None:
            found.add(domain)
    return frozenset(found)


def older_forms_in(value: object, newest: Mapping[int, UserForm]) -> frozenset[int]:
    """The OIDs of the types of `newest` that stand there in another form."""
    found: set[int] = set()
    for part in parts_of(value):
        if isinstance(part, EnumType | DomainType | CompositeType):
            if newest.get(part.oid, part) != part:
                found.add(part.oid)
        elif isinstance(part, Call) and (domain := domain_of_cast(part)) is not None:
            form = newest.get(domain)
            if isinstance(form, DomainType) and renamed_cast(part, form) is not part:
                found.add(domain)
    return frozenset(found)


def parts_of(value: object) -> Iterator[object]:
    """The dataclasses that a value is made of, each once, itself among them; without the history of columns."""
    seen: set[int] = set()
    rest: list[Any] = [value]
    while rest:
        part = rest.pop()
        names = _parts_in(part.__class__)
        if names is None or id(part) in seen:
            continue
        seen.add(id(part))  # all parts live as long as the value
        if names:
            yield part
            rest += [getattr(part, name) for name in names]
        elif isinstance(part, tuple):
            rest += part
        elif isinstance(part, Mapping):
            rest += part.values()
        else:
            yield part  # a dataclass without fields


class _Replacement:
    def __init__(self, after: UserForm) -> None:
        self._after = after
        self._known: dict[int, tuple[object, object]] = {}  # by id(): a plan has most of its parts many times

    def of(self, value: Any) -> Any:
        if isinstance(value, EnumType | DomainType | CompositeType) and value.oid == self._after.oid:
            return value if value == self._after else self._after
        if isinstance(value, EnumType | CompositeType):
            return value
        if _parts_in(value.__class__) is None:
            return value
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = value, self._changed(value)
        return known[1]

    def _changed(self, value: Any) -> Any:
        if isinstance(value, tuple):
            items = tuple([self.of(item) for item in value])
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        if isinstance(value, Mapping):
            pairs = {key: self.of(item) for key, item in value.items()}
            return value if all(pairs[key] is item for key, item in value.items()) else pairs
        if isinstance(self._after, DomainType) and isinstance(value, Call):
            value = renamed_cast(value, self._after)
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        changed = {name: new for name, item in fields.items() if (new := self.of(item)) is not item}
        return dataclasses.replace(value, **changed) if changed else value


@cache
def _parts_in(cls: type) -> tuple[str, ...] | None:
    """The fields of a dataclass, none of a tuple or mapping; None of a class whose values have no parts.

    Once for each class: a plan has some hundred parts, and each creation of a view looks at all of its plan's.
    """
    if dataclasses.is_dataclass(cls) and not issubclass(cls, ColumnHistory):
        return tuple(field.name for field in dataclasses.fields(cls))
    return () if cls is tuple or issubclass(cls, Mapping) else None
