"""PostgreSQL's casts: which types turn into which, in which context, and the common type of several.

Source: PostgreSQL 15's pg_cast, parse_coerce.c, and chapter 10 of its manual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import IntEnum

from sqlglot import exp

from risingpy.errors import CannotCoerce, DatatypeMismatch, SqlError
from risingpy.frontend.binder.trees import begin_of
from risingpy.frontend.binder.typing.constants import converted_number, typed_literal
from risingpy.frontend.binder.typing.lengths import limits_parts, with_parts_assigned, without_lengths
from risingpy.frontend.binder.typing.parameters import Parameters
from risingpy.frontend.binder.typing.system_casts import held_by, parameter_type, system_cast
from risingpy.frontend.system_catalog.names import ObjectNames
from risingpy.functions.numeric_results import NumericRule, numeric_of, numeric_result
from risingpy.functions.texts_in_zone import TEXT_IN_ZONE, depends_on_zone, text_in_zone
from risingpy.plan.expressions import Call, Cast, Expr, Literal, Parameter
from risingpy.types import (
    INTEGER,
    NARROW_NUMERIC,
    NUMERIC,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    TypeKind,
    array_of,
)
from risingpy.types.families import FAMILIES, Category
from risingpy.types.forms import parse_text
from risingpy.types.system_types import OID, is_json, names_objects


class Context(IntEnum):
    """Where a cast may happen; each context allows what those before it allow."""

    IMPLICIT = 0
    ASSIGNMENT = 1
    EXPLICIT = 2


@dataclass(frozen=True, slots=True)
class Operand:
    """An expression and where its text begins, for the errors about it: a position, or a tree that knows it."""

    expr: Expr
    where: int | exp.Expr

    @property
    def position(self) -> int:
        return self.where if isinstance(self.where, int) else begin_of(self.where)

    @property
    def type(self) -> SqlType:
        return self.expr.type


_K = TypeKind


def category(sql_type: SqlType) -> Category:
    """The type's category (pg_type.typcategory), by which PostgreSQL chooses among casts and operators."""
    return FAMILIES[sql_type.kind].category


def is_preferred(sql_type: SqlType) -> bool:
    """Whether overload resolution prefers the type within its category."""
    return FAMILIES[sql_type.kind].preferred


def can_coerce(source: SqlType, target: SqlType, context: Context) -> bool:
    """Whether a value of `source` may become `target` in this context. Unknown literals may become anything."""
    if source.kind is _K.UNKNOWN:
        return True
    if is_json(source) and target.kind is not _K.JSONB:
        return target.is_text and context >= Context.ASSIGNMENT
    if source.kind is target.kind:
        return is_same_kind(source, target) and _items_coerce(source, target, context)
    if {source.kind, target.kind} == {_K.ARRAY, _K.VECTOR}:
        return context >= Context.ASSIGNMENT and _is_list_of_numbers(source, target)
    family = FAMILIES[source.kind]
    if target.kind in family.implicit:
        return True
    if context >= Context.ASSIGNMENT and (target.is_text or target.kind in family.assignment):
        return True
    if context is not Context.EXPLICIT:
        return False
    return (source.is_text and target.kind is not _K.MAP) or target.kind in family.explicit


def _is_list_of_numbers(source: SqlType, target: SqlType) -> bool:
    """Whether an array may become a vector, or a vector an array."""
    if target.kind is _K.VECTOR:
        return source.depth == 1 and source.element.is_numeric
    return target.depth == 1 and target.element.kind is _K.REAL


def is_same_kind(one: SqlType, other: SqlType) -> bool:
    """Whether two types differ at most in their modifiers, or in what they are made of. Named ones are of their own."""
    if one.enum is not None and other.enum is not None:
        return one.enum.oid == other.enum.oid
    if one.composite is not None and other.composite is not None:
        return one.composite.oid == other.composite.oid
    return one.kind is other.kind


def _items_coerce(source: SqlType, target: SqlType, context: Context) -> bool:
    """Whether what a type is made of may become what the other one, of the same kind, is made of."""
    if len(source.items) != len(target.items):
        return False
    return all(can_coerce(a, b, context) for a, b in zip(source.items, target.items, strict=True))


class Coercer:
    """Makes casts, and tells parameters their types as they become known."""

    def __init__(self, parameters: Parameters, time_zone: str, names: ObjectNames) -> None:
        self._parameters = parameters
        self.names = names  # what regclass and its siblings mean
        self.time_zone = time_zone  # of timestamptz literals without an offset, and of casts

    def coerce(self, operand: Operand, target: SqlType, context: Context) -> Expr:
        """`operand` as `target`. Raises CannotCoerce, or what the text of a literal deserves (22P02, 22003, …)."""
        operand = self.as_deep_as(operand, target)
        expr = operand.expr
        if expr.type.kind is _K.UNKNOWN:
            return self._from_unknown(operand, target)
        if not can_coerce(expr.type, target, context):
            raise CannotCoerce(f"cannot cast type {expr.type.name} to {target.name}", position=operand.position)
        if expr.type == target or (context is Context.IMPLICIT and expr.type == held_by(target, expr.type)):
            return expr
        if _has_unknown_fields(expr.type):
            if target.kind in (_K.STRUCT, _K.MAP):
                return self._made_of(operand, target, context)
            return self.coerce(Operand(self.settled(operand), operand.where), target, context)
        if isinstance(expr, Literal) and target != OID:  # whose range `system_cast` knows
            folded = converted_number(expr, target)
            if folded is not None:
                return folded
        if target.kind is _K.NUMERIC and not target.declared and expr.type.is_numeric and not expr.type.is_float:
            # A plain numeric takes any precision: keep what the number has.
            fitting = numeric_of(expr.type)
            return expr if fitting == expr.type or expr.type.kind is _K.NUMERIC else Cast(expr, fitting)
        if target.length is None and expr.type.kind is target.kind and (target.is_text or _is_sized(target)):
            asked = context is Context.EXPLICIT and expr.type.system != target.system  # relname::text is no name
            return Cast(expr, target) if asked or target.system else expr
        return self._cast(expr, target)

    def as_deep_as(self, operand: Operand, target: SqlType) -> Operand:
        """A parameter that is an array of whatever depth, as the type's OID does not tell it, as deep as `target`."""
        expr = operand.expr
        if not isinstance(expr, Parameter) or expr.type.depth in (0, target.depth) or not target.depth:
            return operand
        return Operand(Parameter(expr.index, self._parameters.as_deep_as(expr.index, target)), operand.where)

    def _cast(self, expr: Expr, target: SqlType) -> Expr:
        """A cast; where it depends on the time zone and that is not UTC, with the zone in it."""
        if expr.type.system or target.system or names_objects(expr.type) or names_objects(target):
            return system_cast(expr, target, self.names)
        if target.has_clock and target.length is not None and expr.type.kind is not target.kind:
            return Cast(self._cast(expr, replace(target, length=None)), target)
        if self.time_zone == "UTC":
            return Cast(expr, target)
        if target.kind is _K.VARCHAR and depends_on_zone(expr.type):
            text = text_in_zone(expr, self.time_zone)
            return text if target == VARCHAR else Cast(text, target)
        if expr.type.depth == target.depth > 0 and depends_on_zone(expr.type) != depends_on_zone(target):
            variable = Literal(f"zoned{target.depth}", VARCHAR)
            part = Call("lambda_parameter", (variable,), expr.type.element)
            return Call("array_transform", (expr, self._cast(part, target.element), variable), target)
        if expr.type.is_text and target.depth and depends_on_zone(target):  # a text of an array: as texts first
            return self._cast(Cast(expr, _of_texts(target)), target)
        if not TEXT_IN_ZONE & {expr.type.kind, target.kind}:
            return Cast(expr, target)
        zone = Literal(self.time_zone, VARCHAR)
        match expr.type.kind, target.kind:
            case _K.TIMESTAMPTZ, _K.TIMESTAMP | _K.DATE | _K.TIME | _K.TIMESTAMP_NS:
                local = Call("to_local", (zone, expr), TIMESTAMP)
                return local if target == TIMESTAMP else Cast(local, target)
            case _K.VARCHAR, _K.TSTZRANGE | _K.TSTZMULTIRANGE:
                return Call(f"parse_{target.kind.value}_at", (expr, zone), target)
            case _K.DATE | _K.TIMESTAMP | _K.TIMESTAMP_NS, _K.TIMESTAMPTZ:
                wall = expr if expr.type.kind is _K.TIMESTAMP else Cast(expr, TIMESTAMP)
                return Call("to_utc", (zone, wall), TIMESTAMPTZ)
            case _K.VARCHAR, _K.TIMESTAMPTZ:
                return Call("parse_at", (expr, zone), TIMESTAMPTZ)
        return Cast(expr, target)

    def exactly(self, operand: Operand, target: SqlType) -> Expr:
        """`operand` implicitly cast to the very type, whatever precision it has."""
        return _finally(self.coerce(operand, target, Context.IMPLICIT), target)

    def assign(self, operand: Operand, target: SqlType) -> Expr:
        """`operand` for a column of type `target`: the column's very type, whatever precision the value has."""
        if target.is_bits and target.length is not None:
            return self._assign_bits(operand, target)
        if target.is_text and target.length is not None:
            return self._assign_text(operand, target)
        is_text = operand.type.kind is _K.UNKNOWN and isinstance(operand.expr, Literal)  # which is read as the target
        if limits_parts(target) and operand.type != target and not is_text:
            bare = without_lengths(target)
            value = _finally(self.coerce(operand, bare, Context.ASSIGNMENT), bare)
            return with_parts_assigned(
                value, target, lambda part, type_: self.assign(replace(operand, expr=part), type_)
            )
        return _finally(self.coerce(operand, target, Context.ASSIGNMENT), target)

    def _assign_text(self, operand: Operand, target: SqlType) -> Expr:
        """A text for varchar(n) or char(n): too long is an error, unless only blanks are too many."""
        bare = replace(target, length=None)
        text = self.coerce(operand, bare, Context.ASSIGNMENT)
        if text.type == target:
            return text
        if isinstance(text, Literal) and isinstance(text.value, str):
            return Literal(parse_text(target, text.value), target)
        checked = "check_character" if target.kind is _K.CHARACTER else "check_length"
        return Cast(Call(checked, (text, Literal(target.length, INTEGER)), bare), target)

    def _assign_bits(self, operand: Operand, target: SqlType) -> Expr:
        """A bit string for bit(n) or bit varying(n): another length is an error, where a cast cuts and fills up."""
        bare = replace(target, length=None)
        bits = self.coerce(operand, bare, Context.ASSIGNMENT)
        if bits.type == target:
            return bits
        if isinstance(bits, Literal) and isinstance(bits.value, str):
            return typed_literal(bits.value, target, self.time_zone, operand.position)
        checked = Call(f"check_{target.kind.name.lower()}", (bits, Literal(target.length, INTEGER)), bare)
        return Cast(checked, target)

    def _from_unknown(self, operand: Operand, target: SqlType) -> Expr:
        match operand.expr:
            case Literal(None):
                return Literal(None, target)
            case Literal(str(text)) if names_objects(target):
                try:
                    return Literal(self.names.value(target, text), target)
                except SqlError as error:
                    error.position = operand.position
                    raise
            case Literal(str(text)):
                return typed_literal(text, target, self.time_zone, operand.position)
            case Parameter(index):
                bare = parameter_type(target)
                parameter = Parameter(index, self._parameters.determine(index, bare, operand.position))
                return parameter if parameter.type == target else Cast(parameter, target)
            case expr:
                return expr if target.kind is _K.UNKNOWN else self._cast(expr, target)

    def settled(self, operand: Operand) -> Expr:
        """`operand`, as text if nothing has said what an unknown literal or parameter is."""
        if _has_unknown_fields(operand.type):
            known = tuple(VARCHAR if item.kind is _K.UNKNOWN else item for item in operand.type.items)
            return self._made_of(operand, replace(operand.type, items=known), Context.IMPLICIT)
        return self.coerce(operand, VARCHAR, Context.IMPLICIT) if operand.type.kind is _K.UNKNOWN else operand.expr

    def _made_of(self, operand: Operand, target: SqlType, context: Context) -> Expr:
        """`ROW(…)` or `MAP {…}` with literals that nothing typed yet."""
        match operand.expr:
            case Call("map", args) if target.kind is _K.MAP:
                wanted = target.items * (len(args) // 2)
                parts = zip(args, wanted, strict=True)
                exprs = [_finally(self.coerce(Operand(arg, operand.where), t, context), t) for arg, t in parts]
                return Call("map", tuple(exprs), target)
            case _:
                return self._row(operand, target, context)

    def _row(self, operand: Operand, target: SqlType, context: Context) -> Expr:
        """`ROW(…)` with literals that nothing typed yet: each field on its own."""
        fields: list[Expr]
        match operand.expr:
            case Literal(tuple(values), given):
                fields = [Literal(value, item) for value, item in zip(values, given.items, strict=True)]
            case Call("row", args):
                fields = list(args)
            case _:
                return Cast(operand.expr, target)
        pairs = zip(fields, target.items, strict=True)
        typed = [self.coerce(Operand(field, operand.where), item, context) for field, item in pairs]
        exprs = [e if e.type == item else Cast(e, item) for e, item in zip(typed, target.items, strict=True)]
        constants = [e.value for e in exprs if isinstance(e, Literal)]
        return Literal(tuple(constants), target) if len(constants) == len(exprs) else Call("row", tuple(exprs), target)

    def to_common_type(
        self, operands: Sequence[Operand], what: str, *, compared: bool = False
    ) -> tuple[list[Expr], SqlType]:
        """All operands as their common type; `what` names the construct in the error (CASE, UNION, …).

        Numerics that are `compared` may get decimals that they are not shown with.
        """
        target = common_type(operands, what)
        if compared and target.is_wide:
            target = numeric_result(NumericRule.LARGER, tuple(o.type for o in operands if o.type.is_numeric))
        return [self.exactly(operand, target) for operand in operands], target


def _is_sized(sql_type: SqlType) -> bool:
    """Whether the type, like texts, has a number in parentheses that its operators do not ask for."""
    return sql_type.is_bits or sql_type.has_clock or sql_type.kind is _K.VECTOR


def _has_unknown_fields(sql_type: SqlType) -> bool:
    return sql_type.kind in (_K.STRUCT, _K.MAP) and any(item.kind is _K.UNKNOWN for item in sql_type.items)


def _finally(expr: Expr, target: SqlType) -> Expr:
    """`expr`, coerced to the kind of `target`, as the very type."""
    if expr.type == target:
        return expr
    return widened(expr) if target.is_wide else Cast(expr, target)


def widened(expr: Expr) -> Expr:
    """A number as a wide numeric: a constant at once."""
    if expr.type.is_wide:
        return expr
    if isinstance(expr, Literal) and isinstance(expr.value, int | Decimal) and not isinstance(expr.value, bool):
        return Literal(parse_text(NUMERIC, str(expr.value)), NUMERIC)
    if isinstance(expr, Cast) and expr.arg.type.is_integer and not expr.type.declared and not expr.safe:
        expr = expr.arg  # all its digits were kept
    return Cast(expr, NUMERIC)


def narrowed(expr: Expr) -> Expr:
    """A wide numeric as one that every function knows: 22 digits before the point, 16 behind it."""
    return Cast(expr, NARROW_NUMERIC) if expr.type.is_wide else expr


def common_type(operands: Sequence[Operand], what: str) -> SqlType:
    """PostgreSQL's select_common_type; text if all are unknown. Raises DatatypeMismatch (42804)."""
    chosen: SqlType | None = None
    for operand in operands:
        given = operand.type
        if given.kind is _K.UNKNOWN or (chosen is not None and is_same_kind(chosen, given) and not given.is_nested):
            continue
        if chosen is None:
            chosen = given
        elif chosen.kind is given.kind and given.is_nested:
            chosen = _common_nested(chosen, given, what, operand.position)
        elif category(chosen) is not category(given) or given.kind is _K.ENUM:
            raise DatatypeMismatch(
                f"{what} types {chosen.name} and {given.name} cannot be matched", position=operand.position
            )
        elif not is_preferred(chosen) and _implicit(chosen, given) and not _implicit(given, chosen):
            chosen = given
    if chosen is None:
        return VARCHAR
    if chosen.kind is _K.NUMERIC:
        return _common_numeric([o.type for o in operands if o.type.is_numeric])
    if chosen.is_text or _is_sized(chosen):
        lengths = {o.type.length for o in operands}
        return replace(chosen, length=lengths.pop() if len(lengths) == 1 else None)
    return chosen


def _common_nested(a: SqlType, b: SqlType, what: str, position: int) -> SqlType:
    """What holds two types of one kind that are made of others. Raises DatatypeMismatch."""
    if len(a.items) != len(b.items):
        raise DatatypeMismatch(f"{what} types {a.name} and {b.name} cannot be matched", position=position)
    pairs = zip(a.items, b.items, strict=True)
    items = tuple(common_type([_typed(x, position), _typed(y, position)], what) for x, y in pairs)
    return replace(a, items=items, composite=a.composite if a.composite == b.composite else None)


def _typed(sql_type: SqlType, position: int) -> Operand:
    return Operand(Literal(None, sql_type), position)


def common_element(args: Sequence[tuple[SqlType, bool]], what: str, position: int) -> SqlType:
    """The common type of elements, given as types with whether each is of an array or the element itself."""
    elements = [t.element if is_array and t.kind is _K.ARRAY else t for t, is_array in args]
    return common_type([_typed(element, position) for element in elements], what)


def _implicit(source: SqlType, target: SqlType) -> bool:
    return can_coerce(source, target, Context.IMPLICIT)


def _common_numeric(types: list[SqlType]) -> SqlType:
    if len(set(types)) == 1:
        return types[0]
    return numeric_result(NumericRule.COMMON, tuple(types))


def _of_texts(type_: SqlType) -> SqlType:
    """An array of texts as deep as the type."""
    return array_of(_of_texts(type_.element)) if type_.depth else VARCHAR
