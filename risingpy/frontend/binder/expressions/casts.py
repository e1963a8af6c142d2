"""CAST, TRY_CAST and CASE."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from risingpy.errors import CannotCoerce, SqlError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.nested import constructed
from risingpy.frontend.binder.scope.copies import bound_once
from risingpy.frontend.binder.trees import begin_of, position_of
from risingpy.frontend.binder.typing.coercion import Context, Operand, can_coerce
from risingpy.frontend.binder.typing.type_names import internal_name, resolve_type
from risingpy.frontend.parser.nested_parser import MapConstructor
from risingpy.frontend.parser.parser_tools import TYPE_TEXT
from risingpy.plan.expressions import Call, Case, Cast, Expr, Literal
from risingpy.types import UNKNOWN, VARCHAR, SqlType, TypeKind


def bind_cast(binder: ExpressionBinder, tree: exp.Cast) -> Expr:
    """A cast; of ARRAY[…], of its items. A jsonpath is a text, as in RisingWave; the cast checks it.

    MAP {} has a type only here.
    """
    if internal_name(str(tree.args["to"].meta[TYPE_TEXT])) == "jsonpath":
        return binder.calls.function("jsonpath", [binder.bind(tree.this)], position_of(tree))
    if isinstance(tree.this, exp.Array | MapConstructor):
        to = tree.args["to"]
        target = resolve_type(str(to.meta[TYPE_TEXT]), position_of(to), of_column=False)
        binder.context.note_type(target, position_of(to))
        if target.kind is TypeKind.MAP and not tree.this.expressions:
            return Call("map", (), target)
        if target.kind is TypeKind.ARRAY and isinstance(tree.this, exp.Array):
            return _array_cast(binder, tree.this, target)
    return _plain_cast(binder, tree)


def _array_cast(binder: ExpressionBinder, tree: exp.Array, target: SqlType) -> Expr:
    """`ARRAY[…]::type[]`: each item is cast on its own, so that texts mean what the type says."""
    coercer = binder.context.coercer
    element = target.element
    exprs = []
    for item in tree.expressions:
        if isinstance(item, exp.Array) and element.kind is TypeKind.ARRAY:
            exprs.append(_array_cast(binder, item, element))
            continue
        cast = coercer.coerce(binder.bind(item), element, Context.EXPLICIT)
        exprs.append(cast if cast.type == element else Cast(cast, element))
    return constructed("array", exprs, target)


def _plain_cast(binder: ExpressionBinder, tree: exp.Cast) -> Expr:
    to = tree.args["to"]
    target = resolve_type(str(to.meta[TYPE_TEXT]), position_of(to), of_column=False)
    binder.context.note_type(target, position_of(to))
    operand = binder.bind(tree.this)
    if not can_coerce(operand.type, target, Context.EXPLICIT):
        raise CannotCoerce(f"cannot cast type {operand.type.name} to {target.name}", position=position_of(tree))
    if target.is_text and target.length is not None:
        return _cut(binder, operand, target)
    return binder.context.coercer.coerce(operand, target, Context.EXPLICIT)


def _cut(binder: ExpressionBinder, operand: Operand, target: SqlType) -> Expr:
    """An explicit cast to varchar(n) or char(n) cuts, where an assignment refuses."""
    text = binder.context.coercer.coerce(operand, VARCHAR, Context.EXPLICIT)
    if isinstance(text, Literal):
        if not isinstance(text.value, str):
            return Literal(None, target)
        return binder.context.coercer.coerce(Operand(Literal(text.value, UNKNOWN), 1), target, Context.EXPLICIT)
    return Cast(text, target)


def bind_try_cast(binder: ExpressionBinder, tree: exp.TryCast) -> Expr:
    """A cast that gives NULL where it fails; a literal that is none of the type is NULL too."""
    to = tree.args["to"]
    target = resolve_type(str(to.meta[TYPE_TEXT]), position_of(to), of_column=False)
    plain = exp.Cast(this=tree.this.copy(), to=to.copy())
    plain.meta.update(tree.meta)
    try:
        value = binder.bind(plain).expr
    except CannotCoerce:
        raise
    except SqlError as error:
        if (error.sqlstate or "")[:2] != "22":
            raise
        return Literal(None, target)
    return replace(value, safe=True) if isinstance(value, Cast) else value


def bind_case(binder: ExpressionBinder, tree: exp.Case) -> Expr:
    """CASE of conditions or of a subject; without ELSE it is NULL. The results get one type (manual, 10.5)."""
    subject = tree.args.get("this")
    if subject is None:
        return _case(binder, tree, None)
    return bound_once(binder.bind(subject), lambda operand: _case(binder, tree, operand), copies=len(tree.args["ifs"]))


def _case(binder: ExpressionBinder, tree: exp.Case, subject: Operand | None) -> Expr:
    conditions = [_case_condition(binder, subject, branch) for branch in tree.args["ifs"]]
    default = tree.args.get("default")
    results = [binder.bind(branch.args["true"]) for branch in tree.args["ifs"]]
    otherwise = binder.bind(default) if default is not None else Operand(Literal(None, UNKNOWN), 1)
    exprs, result = binder.context.coercer.to_common_type([otherwise, *results], "CASE")
    return Case(tuple(zip(conditions, exprs[1:], strict=True)), exprs[0], result)


def _case_condition(binder: ExpressionBinder, subject: Operand | None, branch: exp.If) -> Expr:
    if subject is None:
        return binder.condition(branch.this, "CASE/WHEN")
    return binder.calls.operator("=", [subject, binder.bind(branch.this)], begin_of(branch.this))
