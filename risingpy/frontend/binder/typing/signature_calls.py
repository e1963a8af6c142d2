"""From a name and bound arguments to a Call of the signature table: operators, functions, forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from risingpy.errors import DatatypeMismatch, SqlError, UndefinedFunction
from risingpy.frontend.binder.typing.absent_functions import absent_function, absent_operator
from risingpy.frontend.binder.typing.coercion import (
    Coercer,
    Context,
    Operand,
    category,
    common_element,
    narrowed,
    widened,
)
from risingpy.frontend.binder.typing.overloads import NoMatch, resolve
from risingpy.frontend.binder.typing.system_casts import with_names
from risingpy.frontend.binder.typing.written_json import over_written
from risingpy.frontend.parser.nested_parser import Variadic
from risingpy.functions.numeric_results import numeric_of, numeric_result, rounded_result
from risingpy.functions.signatures import SCALARS, Polymorphic, Signature
from risingpy.functions.texts_in_zone import depends_on_zone, shown_in_zone
from risingpy.functions.topics import multiranges, ranges
from risingpy.functions.topics.jsonpath.parser import parse_jsonpath
from risingpy.functions.topics.numbers.wide_numbers import COMPUTED
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import BOOLEAN, JSONB, UNKNOWN, VARCHAR, SqlType, TypeKind, array_of
from risingpy.types.families import Category
from risingpy.types.system_types import JSON, OID, TEXT, is_json, is_object_identifier

_OPERATOR_HINT = "No operator matches the given name and argument types. You might need to add explicit type casts."
_PREFIX_HINT = "No operator matches the given name and argument type. You might need to add an explicit type cast."
_FUNCTION_HINT = "No function matches the given name and argument types. You might need to add explicit type casts."
_CHOICE_HINT = "Could not choose a best candidate {}. You might need to add explicit type casts."


# Operators that are the negation of another one.
_NEGATIONS = {"!~~": "~~", "!~~*": "~~*", "!~": "~", "!~*": "~*"}

_TAKE_WIDE = (
    COMPUTED
    | {"plus", "eq", "ne", "lt", "le", "gt", "ge", "generate_series", "range", "numeric_send"}
    | ranges.TAKE_WIDE
    | multiranges.TAKE_WIDE
)
_COMPARED = frozenset({"in", "is_distinct_from", "is_not_distinct_from"})  # of whose arguments nothing is shown

# Which PostgreSQL declares with anycompatible: literals alone are texts to them.
_OF_COMPATIBLE_TYPES = frozenset(
    (
        *("array_append", "array_cat", "array_position", "array_positions", "array_prepend", "array_remove"),
        *("array_replace", "width_bucket"),
    )
)


class Calls:
    """Builds calls; every argument of a call it returns has exactly the signature's type."""

    def __init__(self, coercer: Coercer) -> None:
        self._coercer = coercer

    def operator(self, symbol: str, args: Sequence[Operand], position: int) -> Expr:
        """`a symbol b` or `symbol a`."""
        if symbol != "||":  # which takes a text beside anything, and arrays of any depth
            args = self._as_deep(self._as_system(args))
        if any(is_json(arg.type) for arg in args) and symbol not in _OF_JSON:
            raise _no_operator(symbol, args, position, ambiguous=False)
        signatures: Sequence[Signature] = SCALARS.get(_NEGATIONS.get(symbol, symbol), ())
        if symbol == "||":
            args = self._as_texts(args)
            signatures = _of_depths(signatures, [a.type for a in args])
        try:
            signature = resolve(signatures, [a.type for a in args], operator=True)
        except NoMatch as no_match:
            raise _no_operator(symbol, args, position, ambiguous=no_match.ambiguous) from None
        try:
            call = self.apply(signature, args)
            return Call("not", (call,), BOOLEAN) if symbol in _NEGATIONS else call
        except DatatypeMismatch:
            if all(arg.type.is_nested for arg in args):  # arrays or rows of types that have no common one
                raise _no_operator(symbol, args, position, ambiguous=False) from None
            raise

    def function(self, name: str, args: Sequence[Operand], position: int, *, shown: str | None = None) -> Expr:
        """`name(args)` of the signature table; errors call it `shown`."""
        signatures = SCALARS.get(name, ()) if name.islower() else ()
        try:
            signature = resolve(signatures, [a.type for a in args], operator=False)
        except NoMatch as no_match:
            raise no_function(shown or name, args, position, ambiguous=no_match.ambiguous) from None
        _check_polymorphic(signature, args)
        try:
            return self.apply(signature, args)
        except DatatypeMismatch:  # an array and an element that have no common type
            if Polymorphic.ARRAY in signature.args:
                raise no_function(shown or name, args, position, ambiguous=False) from None
            raise

    def form(self, name: str, args: Sequence[Operand], what: str) -> Expr:
        """A form with a syntax of its own (AND, COALESCE, EXTRACT, …); `what` calls it in errors."""
        compared = [arg for arg in args if is_json(arg.type)] if name in _COMPARING else []
        if compared:
            raise _no_operator("=", compared[:1] * 2, compared[0].position, ambiguous=False)
        overloads = SCALARS[name]
        signature = overloads[0]
        if len(overloads) > 1:
            signature = resolve(overloads, [a.type for a in args], operator=False)
        if signature.args[:1] == (BOOLEAN,):
            args = [Operand(self.boolean(arg, what), arg.position) for arg in args]
        return self.apply(signature, args, what)

    def null_test(self, value: Operand, *, negated: bool) -> Expr:
        """IS [NOT] NULL: of a row, whether all its fields are, or none is; of one without fields, both."""
        name = "IS_NOT_NULL" if negated else "IS_NULL"
        if value.type.kind is not TypeKind.STRUCT:
            return self.form(name, [value], "IS NULL")
        result: Expr = Literal(True, BOOLEAN)
        for k, (field, type_) in enumerate(zip(value.type.names, value.type.items, strict=True)):
            part = Call("field", (value.expr, Literal(field, VARCHAR)), type_)
            test = self.form(name, [Operand(part, value.position)], "IS NULL")
            result = Call("and", (result, test), BOOLEAN) if k else test
        return result

    def comparable(self, args: Sequence[Operand], position: int) -> list[Operand]:
        """Two operands as `=` would compare them."""
        call = self.operator("=", args, position)
        assert isinstance(call, Call)
        return [Operand(expr, arg.position) for expr, arg in zip(call.args, args, strict=True)]

    def boolean(self, operand: Operand, what: str) -> Expr:
        """`operand` as the condition of `what`. Raises DatatypeMismatch."""
        if operand.type.kind not in (TypeKind.BOOLEAN, TypeKind.UNKNOWN):
            message = f"argument of {what} must be type boolean, not type {operand.type.name}"
            raise DatatypeMismatch(message, position=operand.position)
        return self._coercer.coerce(operand, BOOLEAN, Context.IMPLICIT)

    def apply(self, signature: Signature, args: Sequence[Operand], what: str | None = None) -> Expr:
        """The call of one overload, its arguments cast to what it takes."""
        wanted = list(signature.args)
        wanted += wanted[-1:] * (len(args) - len(wanted))
        common: SqlType | None = None
        commons: Iterator[Expr] = iter(())
        if {Polymorphic.ANY, Polymorphic.RECORD} & {*wanted}:
            shared = (Polymorphic.ANY, Polymorphic.RECORD)
            alike = [arg for arg, want in zip(args, wanted, strict=True) if want in shared]
            compared = signature.function in _COMPARED
            exprs_of_one_type, common = self._coercer.to_common_type(alike, what or signature.name, compared=compared)
            commons = iter(exprs_of_one_type)
        element = _element_type(args, wanted, what or signature.name)
        exprs: list[Expr] = []
        for arg, want in zip(args, wanted, strict=True):
            match want:
                case Polymorphic.ANY | Polymorphic.RECORD:
                    exprs.append(next(commons))
                case Polymorphic.EVERY:
                    exprs.append(self._as_shown(signature, arg))
                case Polymorphic.ELEMENT:
                    exprs.append(self._coercer.exactly(arg, element))
                case Polymorphic.ARRAY:
                    exprs.append(self._coercer.exactly(arg, array_of(element)))
                case SqlType():
                    expr = self._coercer.coerce(arg, fitting(want, arg.type), Context.IMPLICIT)
                    exprs.append(expr if signature.function in _TAKE_WIDE else narrowed(expr))
        exprs = self._in_zone(signature, exprs)
        result = signature.result
        match signature.result:
            case Polymorphic.ANY if common is not None:
                result = common
            case Polymorphic.ELEMENT:
                result = element
            case Polymorphic.ARRAY:
                result = array_of(element)
        if signature.rule is not None:
            result = numeric_result(signature.rule, tuple(e.type for e in exprs[: len(args)]))
            match signature.function, exprs:
                case "round_to" | "trunc_to", [number, Literal(int(decimals))]:
                    result = rounded_result(number.type, decimals)
        assert isinstance(result, SqlType)
        if signature.function.startswith("jsonb_path_"):
            _check_jsonpath(exprs[1], args[1])
        if result.is_wide or any(expr.type.is_wide for expr in exprs):
            exprs = [widened(expr) if expr.type.kind is TypeKind.NUMERIC else expr for expr in exprs]
        return over_written(Call(signature.function, tuple(exprs), result), args)

    def _in_zone(self, signature: Signature, exprs: list[Expr]) -> list[Expr]:
        """The arguments with the session's time zone, where the result shows times, or depends on it otherwise.

        What json shows has the names of objects, too.
        """
        zone = self._coercer.time_zone
        if signature.result in (JSONB, JSON):
            exprs = [shown_in_zone(with_names(e), zone) for e in exprs]
        elif signature.result == VARCHAR:
            exprs = [shown_in_zone(e, zone) if e.type.is_nested else e for e in exprs]
        return [*exprs, Literal(zone, VARCHAR)] if signature.zoned else exprs

    def _as_shown(self, signature: Signature, arg: Operand) -> Expr:
        """An argument of any type. What becomes text of a timestamptz depends on the time zone."""
        if signature.result == VARCHAR and (depends_on_zone(arg.type) or is_object_identifier(arg.type)):
            return self._coercer.coerce(arg, VARCHAR, Context.EXPLICIT)
        return self._coercer.settled(arg)

    def _as_system(self, args: Sequence[Operand]) -> Sequence[Operand]:
        """`oid = '5'`: an unknown literal is of the other side's type, where that is one of system catalogs.

        It is an oid where that is shown by name: regclass has PostgreSQL's operators of oid.
        """
        known = [arg.type for arg in args if arg.type.kind is not TypeKind.UNKNOWN]
        if len(args) != 2 or len(known) != 1 or known[0].system in ("", JSON.system):
            return args
        target = TEXT if known[0].is_text else OID if is_object_identifier(known[0]) else known[0]
        return [
            arg if arg.type == known[0] else Operand(self._coercer.coerce(arg, target, Context.IMPLICIT), arg.where)
            for arg in args
        ]

    def _as_deep(self, args: Sequence[Operand]) -> Sequence[Operand]:
        """`a = $1` of arrays: the parameter has as many dimensions as the other side."""
        if len(args) != 2 or TypeKind.ARRAY not in (args[0].type.kind, args[1].type.kind):
            return args
        left, right = args
        return [self._coercer.as_deep_as(left, right.type), self._coercer.as_deep_as(right, left.type)]

    def _as_texts(self, args: Sequence[Operand]) -> Sequence[Operand]:
        """`text || anything`: the other side becomes text, as PostgreSQL's textanycat does."""
        kinds = [category(a.type) for a in args]
        if Category.STRING not in kinds and Category.UNKNOWN not in kinds:
            return args
        if {TypeKind.BYTEA, TypeKind.ARRAY} & {a.type.kind for a in args}:
            return args
        if _CONCATENATED & {a.type.kind for a in args} and Category.UNKNOWN in kinds:
            return args
        return [Operand(self._coercer.coerce(a, VARCHAR, Context.EXPLICIT), a.position) for a in args]


_OF_JSON = frozenset(("->", "->>", "#>", "#>>", "||"))
_COMPARING = frozenset(("IN", "NULLIF", "IS_DISTINCT_FROM", "IS_NOT_DISTINCT_FROM", "GREATEST", "LEAST"))
# A literal beside one of these is of that type, and not a text.
_CONCATENATED = frozenset((TypeKind.JSONB, TypeKind.BIT, TypeKind.VARBIT, TypeKind.VECTOR))


def _check_polymorphic(signature: Signature, args: Sequence[Operand]) -> None:
    """Of literals alone, which have no type yet, a function of any array or any element can make none."""
    if signature.name in _OF_COMPATIBLE_TYPES:
        return
    undetermined = [Polymorphic.ARRAY, Polymorphic.ELEMENT]
    undetermined += [Polymorphic.EVERY] if signature.name == "to_jsonb" else []
    wanted = [*signature.args, *signature.args[-1:] * (len(args) - len(signature.args))]
    given = [arg.type.kind for arg, want in zip(args, wanted, strict=True) if want in undetermined]
    if given and all(kind is TypeKind.UNKNOWN for kind in given):
        raise DatatypeMismatch("could not determine polymorphic type because input has type unknown")


def _check_jsonpath(path: Expr, where: Operand) -> None:
    """A constant path is read when the query is bound, so that a view is refused rather than full of NULLs."""
    if isinstance(path, Literal) and isinstance(path.value, str):
        try:
            parse_jsonpath(path.value)
        except SqlError as error:
            error.position = where.position
            raise


def _of_depths(signatures: Sequence[Signature], types: Sequence[SqlType]) -> Sequence[Signature]:
    """Of `||` on arrays, the one for these depths: arrays are joined, or one is an element of the other."""
    if TypeKind.ARRAY not in [t.kind for t in types] or len(types) != 2:
        return signatures
    left, right = (t.depth for t in types)
    unknown = TypeKind.UNKNOWN in [t.kind for t in types]
    name = "array_cat" if left == right or unknown else "array_append" if left > right else "array_prepend"
    return [signature for signature in signatures if signature.function == name]


def _element_type(args: Sequence[Operand], wanted: Sequence[object], what: str) -> SqlType:
    """What ELEMENT stands for in a call, and ARRAY for an array of."""
    found = [
        (arg.type, want is Polymorphic.ARRAY)
        for arg, want in zip(args, wanted, strict=True)
        if want in (Polymorphic.ELEMENT, Polymorphic.ARRAY)
    ]
    return common_element(found, what, args[0].position) if found else UNKNOWN


def fitting(wanted: SqlType, given: SqlType) -> SqlType:
    """A numeric parameter takes the argument with the precision it has."""
    if wanted.kind is TypeKind.NUMERIC and given.is_numeric and not given.is_float:
        return numeric_of(given)
    return wanted


def _no_operator(symbol: str, args: Sequence[Operand], position: int, *, ambiguous: bool) -> SqlError:
    types = [a.type.name for a in args]
    shown = f" {symbol} ".join(types) if len(types) == 2 else f"{symbol} {types[0]}"
    if ambiguous:
        hint = _CHOICE_HINT.format("operator")
        return SqlError(f"operator is not unique: {shown}", sqlstate="42725", position=position, hint=hint)
    absent = absent_operator(symbol, types, position)
    if absent is not None:
        return absent
    hint = _OPERATOR_HINT if len(args) == 2 else _PREFIX_HINT
    return UndefinedFunction(f"operator does not exist: {shown}", position=position, hint=hint)


def no_function(
    name: str, args: Sequence[Operand], position: int, *, ambiguous: bool = False, noun: str = "function"
) -> SqlError:
    """The error for a call that no overload takes."""
    shown = f"{name}({', '.join(map(_shown_argument, args))})"
    if ambiguous:
        hint = _CHOICE_HINT.format(noun)
        return SqlError(f"{noun} {shown} is not unique", sqlstate="42725", position=position, hint=hint)
    absent = absent_function(name, position)
    if absent is not None:
        return absent
    hint = _FUNCTION_HINT.replace("function", noun)
    if any(arg.type.leaf.kind is TypeKind.TIMESTAMP_NS for arg in args):
        hint = f"Cast the timestamp_ns to timestamp, which has microseconds and more {noun}s."
    return UndefinedFunction(f"{noun} {shown} does not exist", position=position, hint=hint)


def argument_name(where: int | exp.Expr) -> str | None:
    """The name that a call gives an argument, `name => value` or `name := value`; None for any other tree."""
    where = where.this if isinstance(where, Variadic) else where
    return str(where.this.name) if isinstance(where, exp.Kwarg | exp.PropertyEQ) else None


def _shown_argument(arg: Operand) -> str:
    name = argument_name(arg.where)
    return arg.type.name if name is None else f"{name} => {arg.type.name}"
