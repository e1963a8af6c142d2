"""anyelement, anyarray and the like: what they are in a call, as PostgreSQL decides it.

All arguments of anyelement, anynonarray and anyenum, and the elements of those of anyarray, are of one type; so are
the bounds of anyrange, whose arguments are of one type, too. Those of anycompatible, anycompatiblenonarray and the
elements of anycompatiblearray are made of one type. Literals that nothing typed take part in nothing of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from risingpy.errors import DatatypeMismatch, FeatureNotSupported, InvalidFunctionDefinition, UndefinedObject
from risingpy.frontend.binder.typing.coercion import Operand, common_type
from risingpy.frontend.binder.typing.type_names import KnownTypes, element_name, internal_name, resolve_type
from risingpy.plan.expressions import Literal
from risingpy.types import NUMERIC, SqlType, TypeKind, array_of
from risingpy.types.families import MULTIRANGE_OF
from risingpy.types.ranges.elements import ELEMENTS
from risingpy.types.ranges.multiranges import RANGE_OF
from risingpy.types.system_types import POLYMORPHIC_TYPES, RECORD, TEXT, is_polymorphic

_ELEMENTS = ("anyelement", "anynonarray", "anyenum")
_RANGES = ("anyrange", "anymultirange")
_COMPATIBLE = ("anycompatible", "anycompatiblearray", "anycompatiblenonarray")
_FAMILY = (*_ELEMENTS[:1], "anyarray", *_ELEMENTS[1:], *_RANGES)
_NOT_KNOWN = ("anycompatiblerange", "anycompatiblemultirange")


def type_of_routine(text: str, position: int | None, types: KnownTypes) -> SqlType:
    """The type that `text` names as what a function takes or gives: a polymorphic one, too, or record."""
    name = internal_name(text) if element_name(text) == text else ""  # there are no arrays of them
    if name in POLYMORPHIC_TYPES:
        return POLYMORPHIC_TYPES[name]
    if name == "record":
        return RECORD
    if name == "any":
        raise InvalidFunctionDefinition('SQL functions cannot have arguments of type "any"', position=position)
    if name in _NOT_KNOWN:
        raise FeatureNotSupported(f"the type {name} of a function's argument is not supported", position=position)
    return resolve_type(text, position, types, of_rows=True)


def check_result(arguments: Sequence[SqlType], results: Sequence[SqlType]) -> None:
    """Raises 42P13 for a result that no argument decides."""
    given = {type_.system for type_ in arguments}
    for result in results:
        if result.system not in POLYMORPHIC_TYPES:
            continue
        needed: tuple[str, ...] = _FAMILY
        last = "anymultirange"
        if result.system in _RANGES:
            needed = _RANGES
        elif result.system in _COMPATIBLE:
            needed, last = (*_COMPATIBLE, "anycompatiblerange", "anycompatiblemultirange"), "anycompatiblemultirange"
        if not given & {*needed}:
            listed = ", ".join(needed[:-1]) + (", or " if len(needed) > 2 else " or ") + last
            detail = f"A result of type {result.system} requires at least one input of type {listed}."
            raise InvalidFunctionDefinition("cannot determine result data type", detail=detail)


@dataclass(frozen=True, slots=True)
class ActualTypes:
    """What the polymorphic types are in a call; None: nothing says it."""

    element: SqlType | None = None
    array: SqlType | None = None
    range: SqlType | None = None
    common: SqlType | None = None

    def of(self, type_: SqlType) -> SqlType:
        """The type with actual ones in the places of polymorphic ones. Raises 42804 where nothing says it."""
        if type_.system not in POLYMORPHIC_TYPES:
            return replace(type_, items=tuple(map(self.of, type_.items))) if is_polymorphic(type_) else type_
        found = self._named(type_.system)
        if found is None:
            raise DatatypeMismatch("could not determine polymorphic type because input has type unknown")
        return found

    def _named(self, name: str) -> SqlType | None:
        match name:
            case "anyarray":
                if self.array is None and self.element is not None and self.element.kind is TypeKind.ARRAY:
                    raise UndefinedObject(f"could not find array type for data type {self.element.name}")
                return self.array or (None if self.element is None else array_of(self.element))
            case "anyrange":
                return self.range
            case "anymultirange":
                return None if self.range is None else SqlType(MULTIRANGE_OF[self.range.kind])
            case "anycompatiblearray":
                return None if self.common is None else array_of(self.common)
            case "anycompatible" | "anycompatiblenonarray":
                return self.common
        return self.element


def actual_types(wanted: Sequence[SqlType], given: Sequence[SqlType]) -> ActualTypes | None:
    """What the polymorphic types of `wanted` are for these arguments; None if they do not fit."""
    pairs = [
        (want.system, type_) for want, type_ in zip(wanted, given, strict=True) if want.system in POLYMORPHIC_TYPES
    ]
    known = [(name, _bare(type_)) for name, type_ in pairs if type_.kind is not TypeKind.UNKNOWN]
    names = {name for name, _ in pairs}
    if not all(_suits(name, type_) for name, type_ in known):
        return None
    arrays = [type_ for name, type_ in known if name == "anyarray"]
    ranges = [type_ for name, type_ in known if name == "anyrange"]
    ranges += [RANGE_OF[type_.kind] for name, type_ in known if name == "anymultirange"]
    elements = [type_ for name, type_ in known if name in _ELEMENTS]
    elements += [type_.leaf for type_ in arrays] + [ELEMENTS[type_.kind].type for type_ in ranges]
    if any(each != elements[0] for each in elements) or any(each != ranges[0] for each in ranges):
        return None
    element = elements[0] if elements else None
    if "anynonarray" in names and element is not None and element.kind is TypeKind.ARRAY:
        return None
    if "anyenum" in names and (element is None or element.kind is not TypeKind.ENUM):
        return None
    compatible = [
        type_.element if name == "anycompatiblearray" else type_ for name, type_ in known if name in _COMPATIBLE
    ]
    common = None
    if names & {*_COMPATIBLE}:
        try:
            common = _bare(common_type([Operand(Literal(None, each), 0) for each in compatible], ""))
        except DatatypeMismatch:
            return None
    return ActualTypes(element, arrays[0] if arrays else None, ranges[0] if ranges else None, common)


def _suits(name: str, type_: SqlType) -> bool:
    match name:
        case "anyarray" | "anycompatiblearray":
            return type_.kind is TypeKind.ARRAY
        case "anycompatiblenonarray":
            return type_.kind is not TypeKind.ARRAY
        case "anyrange":
            return type_.kind in MULTIRANGE_OF
        case "anymultirange":
            return type_.kind in RANGE_OF
    return True


def _bare(type_: SqlType) -> SqlType:
    """The type without modifiers, which no function sees. A name of the system's for a text is text."""
    if type_ == TEXT:
        return replace(type_, system="")
    if type_.kind is TypeKind.NUMERIC:
        return NUMERIC
    bare = replace(type_, length=None) if type_.length is not None else type_
    return replace(bare, items=tuple(map(_bare, bare.items))) if bare.items and bare.composite is None else bare
