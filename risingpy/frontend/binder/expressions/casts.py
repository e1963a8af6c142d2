"""CAST, TRY_CAST and CASE."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from risingpy.errors import CannotCoerce, FeatureNotSupported, SqlError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.nested import constructed
from risingpy.frontend.binder.scope.context import SystemUse
from risingpy.frontend.binder.scope.copies import bound_once
from risingpy.frontend.binder.trees import begin_of, position_of
from risingpy.frontend.binder.typing.coercion import Context, Operand, can_coerce
from risingpy.frontend.binder.typing.domain_names import domain_named, refuse_domain
from risingpy.frontend.binder.typing.type_names import element_name, internal_name, resolve_type
from risingpy.frontend.parser.interval_fields import FIELDS
from risingpy.frontend.parser.nested_parser import MapConstructor
from risingpy.frontend.parser.parser_tools import TYPE_TEXT
from risingpy.plan.catalog import DomainType
from risingpy.plan.catalog.domains import domain_rules
from risingpy.plan.domain_casts import cast_to_domain
from risingpy.plan.expressions import Call, Case, Cast, Expr, Literal
from risingpy.types import BIGINT, UNKNOWN, VARCHAR, SqlType, TypeKind, array_of


def bind_cast(binder: ExpressionBinder, tree: exp.Cast) -> Expr:
    """A cast; of ARRAY[…], of its items. A jsonpath is a text, as in RisingWave; the cast checks it.

    MAP {} has a type only here.
    """
    text = str(tree.args["to"].meta[TYPE_TEXT])
    if internal_name(text) == "jsonpath":
        return binder.calls.function("jsonpath", [binder.bind(tree.this)], position_of(tree))
    domain = domain_named(text, binder.context.types)
    return _cast(binder, tree) if domain is None else _domain_cast(binder, tree, domain)


def _domain_cast(binder: ExpressionBinder, tree: exp.Cast, domain: DomainType) -> Expr:
    """A cast to the type below the domain, whose rules look at the value then."""
    value, rules = _cast(binder, tree), domain_rules(domain, binder.context.catalog.types)
    if domain.dimensions(value.type):
        if rules.are_none:
            return value
        message = f"a cast to an array of domain {domain.name} is not supported"
        raise FeatureNotSupported(message, position=position_of(tree), hint="Cast its elements to the domain.")
    value = value if value.type == domain.base else Cast(value, domain.base)
    copies = 1 + rules.not_null + len(rules.checks)
    return bound_once(Operand(value, tree), lambda operand: cast_to_domain(operand.expr, rules), copies)


def _cast(binder: ExpressionBinder, tree: exp.Cast) -> Expr:
    if isinstance(tree.this, exp.Array | MapConstructor):
        to = tree.args["to"]
        target = _named(binder, to)
        if target.kind is TypeKind.MAP and not tree.this.expressions:
            return Call("map", (), target)
        if target.kind is TypeKind.ARRAY and isinstance(tree.this, exp.Array):
            return _array_cast(binder, tree.this, _as_deep(target, _depth(tree.this)))
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


def _as_deep(target: SqlType, depth: int) -> SqlType:
    """An array type of at least this depth: `int[]` is PostgreSQL's name for arrays of integers of any depth."""
    while target.kind is TypeKind.ARRAY and target.depth < depth:
        target = array_of(target)
    return target


def _depth(tree: exp.Expr) -> int:
    """How deep `ARRAY[ARRAY[…], …]` nests."""
    if not isinstance(tree, exp.Array):
        return 0
    return 1 + max((_depth(item) for item in tree.expressions), default=0)


def _depth_of(operand: Operand) -> int:
    """How deep an array is, or the text of one."""
    match operand.expr:
        case Literal(str(text)) if operand.type.kind is TypeKind.UNKNOWN:
            opened = text.replace(" ", "")
            return len(opened) - len(opened.lstrip("{"))
    return operand.type.depth if operand.type.kind is TypeKind.ARRAY else 0


def _named(binder: ExpressionBinder, to: exp.Expr) -> SqlType:
    """The type that a cast names. What is stored cannot name one of the system, or of a relation's rows."""
    context, text, position = binder.context, str(to.meta[TYPE_TEXT]), position_of(to)
    target = resolve_type(text, position, context.types, of_column=False, of_rows=True)
    context.note_type(target, position)
    if target.leaf.kind is TypeKind.STRUCT and context.types.row_meant(element_name(text)) is not None:
        context.system_uses.append(SystemUse(element_name(text), position, of_rows=True))
    return target


def _plain_cast(binder: ExpressionBinder, tree: exp.Cast) -> Expr:
    to = tree.args["to"]
    target = _named(binder, to)
    operand = binder.bind(tree.this)
    target = _as_deep(target, _depth_of(operand))
    operand = binder.context.coercer.as_deep_as(operand, target)
    if not can_coerce(operand.type, target, Context.EXPLICIT):
        raise CannotCoerce(f"cannot cast type {operand.type.name} to {target.name}", position=position_of(tree))
    if target.is_text and target.length is not None:
        return _cut(binder, operand, target)
    if target.is_bits and target.length is not None:
        return Cast(_bits(binder, operand, target), target)
    value = binder.context.coercer.coerce(operand, target, Context.EXPLICIT)
    return value if target.kind is not TypeKind.INTERVAL else _of_fields(binder, value, to)


def _of_fields(binder: ExpressionBinder, interval: Expr, to: exp.Expr) -> Expr:
    """`x::interval day to minute`: what is smaller than its last field is cut off."""
    last = str(to.meta[TYPE_TEXT]).lower().split()[-1]
    if last not in FIELDS[:-1]:
        return interval
    position = position_of(to)
    field = Operand(Literal(last, UNKNOWN), position)
    return binder.calls.function("date_trunc", [field, Operand(interval, position)], position)


def _cut(binder: ExpressionBinder, operand: Operand, target: SqlType) -> Expr:
    """An explicit cast to varchar(n) or char(n) cuts, where an assignment refuses."""
    text = binder.context.coercer.coerce(operand, VARCHAR, Context.EXPLICIT)
    if isinstance(text, Literal):
        if not isinstance(text.value, str):
            return Literal(None, target)
        return binder.context.coercer.coerce(Operand(Literal(text.value, UNKNOWN), 1), target, Context.EXPLICIT)
    return Cast(text, target)


def _bits(binder: ExpressionBinder, operand: Operand, target: SqlType) -> Expr:
    """What a cast to bit(n) cuts or fills up; of an integer the cast itself takes as many bits as it needs."""
    if operand.type.is_integer:
        return binder.context.coercer.coerce(operand, BIGINT, Context.IMPLICIT)
    return binder.context.coercer.coerce(operand, replace(target, length=None), Context.EXPLICIT)


def bind_try_cast(binder: ExpressionBinder, tree: exp.TryCast) -> Expr:
    """A cast that gives NULL where it fails; a literal that is none of the type is NULL too."""
    to = tree.args["to"]
    target = _named(binder, to)
    refuse_domain(str(to.meta[TYPE_TEXT]), position_of(to), binder.context.types, "TRY_CAST")
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
