"""The arguments of a user's function: by position, by name, and those that are left to their defaults.

CREATE FUNCTION f(a int, b int DEFAULT 2, c int DEFAULT 3)      f(1, c => 5)  =>  f(1, 2, 5)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from risingpy.errors import SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.trees import begin_of
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.signature_calls import argument_name
from risingpy.frontend.parser.cursor import fold
from risingpy.frontend.parser.nested_parser import Variadic
from risingpy.frontend.parser.parse import parse_expression
from risingpy.plan.catalog import FunctionDesc
from risingpy.plan.expressions import Expr, Parameter
from risingpy.types import SqlType
from risingpy.types.system_types import VOID, element_type, is_polymorphic


def has_names(trees: Sequence[exp.Expr]) -> bool:
    """Whether a call gives an argument by its name."""
    return any(argument_name(tree) is not None for tree in trees)


def has_variadic(arguments: Sequence[exp.Expr]) -> bool:
    """Whether a call says VARIADIC. Raises a syntax error where that is not before the last argument."""
    for argument in arguments[:-1]:
        if isinstance(argument, Variadic):
            raise SyntaxError_("VARIADIC argument must be the last one", position=begin_of(argument))
    return bool(arguments) and isinstance(arguments[-1], Variadic)


def without_results(operands: Sequence[Operand]) -> list[Operand]:
    """The arguments without parameters of type void: PgJDBC's `{? = call f(?)}` comes as f($1, $2), where $1 is one."""
    return [each for each in operands if not (isinstance(each.expr, Parameter) and each.type == VOID)]


def bound_arguments(binder: ExpressionBinder, trees: Sequence[exp.Expr]) -> list[Operand]:
    """The arguments in the order of the call; the `where` of one with a name is the tree that has the name.

    Raises SyntaxError_ for a name that comes twice, and for an argument without a name after one with a name.
    """
    operands, names = list[Operand](), set[str]()
    has_variadic(trees)
    for tree in trees:
        name, value = argument_name(tree), tree.this if isinstance(tree, Variadic) else tree
        if name is None:
            if names:
                raise SyntaxError_("positional argument cannot follow named argument", position=begin_of(tree))
            operand = binder.bind(value)
            operands.append(operand if value is tree else replace(operand, where=tree))
            continue
        if name in names:
            raise SyntaxError_(f'argument name "{name}" used more than once', position=begin_of(tree))
        names.add(name)
        operands.append(Operand(binder.bind(value.expression).expr, tree))
    return without_results(operands)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A function that a call may mean, and which of its arguments each given one is.

    If it is `expanded`, those from the last place on are elements of the array that is its VARIADIC argument.
    """

    function: FunctionDesc
    places: tuple[int, ...]
    expanded: bool = False

    @property
    def types(self) -> tuple[SqlType, ...]:
        """What the function takes in the places of the given arguments."""
        types, last = self.function.argument_types, len(self.function.argument_types) - 1
        return tuple(
            element_type(types[place]) if self.expanded and place == last else types[place] for place in self.places
        )


def candidate(function: FunctionDesc, args: Sequence[Operand]) -> Candidate | None:
    """How the function can be called with these arguments; None if it cannot."""
    count = len(function.argument_types)
    is_array = bool(args) and isinstance(args[-1].where, Variadic)
    if function.variadic and not is_array:
        if any(argument_name(arg.where) is not None for arg in args):  # there is no name for one element
            return None
        if len(args) >= count:
            return Candidate(function, tuple(min(number, count - 1) for number in range(len(args))), True)
    found: list[int] = []
    for number, arg in enumerate(args):
        name = argument_name(arg.where)
        place = number if name is None else _place(function, name)
        if place is None or place in found or place >= count:
            return None
        found.append(place)
    needed = count - len(function.argument_defaults)
    if not set(range(needed)) <= set(found) or (function.variadic and is_array and found[-1] != count - 1):
        return None
    return Candidate(function, tuple(found))


def _place(function: FunctionDesc, name: str) -> int | None:
    """sqlglot does not tell a quoted name from another one: the name as it is written comes first."""
    names = function.argument_names
    return next((names.index(each) for each in (name, fold(name)) if each in names), None)


def default_of(context: BindContext, function: FunctionDesc, place: int) -> Expr:
    """The default of the argument at `place`, in its type."""
    text = function.argument_defaults[place - len(function.argument_types)]
    return bound_default(context, parse_expression(text).tree, function, place)


def bound_default(context: BindContext, tree: exp.Expr, function: FunctionDesc, place: int) -> Expr:
    """An expression as the default of an argument. It reads no columns and no rows. Raises CannotCoerce."""
    type_, alone = function.argument_types[place], replace(context, outer=None, subqueries=None, bodies=None)
    operand = ExpressionBinder(alone, Scope(), "DEFAULT").bind(tree)
    if is_polymorphic(type_):
        return operand.expr
    return alone.coercer.assign(Operand(alone.coercer.coerce(operand, type_, Context.ASSIGNMENT), tree), type_)
