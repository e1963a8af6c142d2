"""Whether two plans mean the same, whatever the names of the relations that they read."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Catalog
from risingpy.plan.expressions import Call, Cast, Expr, InputRef, Literal
from risingpy.plan.logical import Field, LogicalPlan, Project, Scan
from risingpy.types import VARCHAR, TypeKind
from risingpy.types.system_types import NAME, TEXT

_TEXTS = (VARCHAR, TEXT, NAME)


def same_meaning(one: LogicalPlan, other: LogicalPlan) -> bool:
    """The same operators over the same relations, columns and constants, whatever the columns are called.

    A scan's relation counts by its id.
    """
    rest: list[tuple[object, object]] = [(one, other)]
    while rest:
        mine, its = (_plain(each) for each in rest.pop())
        if mine is its:
            continue
        if type(mine) is not type(its):
            return False
        if isinstance(mine, tuple) and isinstance(its, tuple):
            if len(mine) != len(its):
                return False
            rest += zip(mine, its, strict=True)
        elif dataclasses.is_dataclass(mine) and not isinstance(mine, type):
            for field in dataclasses.fields(mine):
                is_name = isinstance(mine, Scan | Field) and field.name in ("name", "version")
                if not field.compare or is_name:
                    continue
                rest.append((getattr(mine, field.name), getattr(its, field.name)))
        elif mine != its:
            return False
    return True


def same_reading(one: LogicalPlan, before: Catalog, other: LogicalPlan, after: Catalog) -> bool:
    """The same, of plans over two catalogs, between which a relation may have got and lost columns.

    What is not read does not count: so the plans are compared as they would run, with columns by their ids.
    """
    return same_meaning(one, other) or same_meaning(_by_id(optimize(one), before), _by_id(optimize(other), after))


def _by_id(plan: LogicalPlan, catalog: Catalog) -> LogicalPlan:
    def change(node: LogicalPlan) -> LogicalPlan:
        if isinstance(node, Project) and _gives_its_input(node):  # it has been there to change a name
            return node.input
        if not isinstance(node, Scan):
            return node
        columns = catalog.relations[node.relation_id].columns
        ids = () if node.counts_only else tuple(columns[place].column_id for place in node.columns)
        return replace(node, columns=ids, schema=() if node.counts_only else node.schema, not_null=(), key=())

    return rewrite_plan(plan, change)


def _gives_its_input(node: Project) -> bool:
    places = [each.index for each in node.expressions if isinstance(each, InputRef)]
    return len(places) == len(node.expressions) and places == list(range(len(node.input.schema)))


def _plain(node: object) -> object:
    """One form of what has several: AND in AND, IN of one value or of columns, NOT of what has an opposite."""
    match node:
        case Call("in", (operand, value), sql_type):
            return Call("eq", (operand, value), sql_type)
        case Call("in", (operand, *items), sql_type) if not all(map(_is_constant, items)):
            known = [item for item in items if _is_constant(item)]
            each = [Call("eq", (operand, item), sql_type) for item in items if not _is_constant(item)]
            if known:
                each.insert(0, Call("in", (operand, *known), sql_type))
            return _plain(Call("or", tuple(each), sql_type))
        case Call("in", args, sql_type):
            return Call("in", tuple(map(_undeclared, args)), sql_type)
        case Cast(arg, sql_type, False) if sql_type in _TEXTS and arg.type.kind is TypeKind.VARCHAR:
            return _plain(arg)  # of character varying(n) without its length, or of a name
        case Literal(value, sql_type) if sql_type in _TEXTS[1:]:
            return Literal(value, VARCHAR)  # a text beside a name is one only where it is written so
        case Call("not", (inner,)):
            match _plain(inner):
                case Call(function, args, sql_type) if function in _OPPOSITE:
                    return Call(_OPPOSITE[function], args, sql_type)
                case Call("and" | "or" as word, args, sql_type):  # De Morgan: NOT (a AND b) is NOT a OR NOT b
                    negated = tuple(Call("not", (arg,), sql_type) for arg in args)
                    return _plain(Call("or" if word == "and" else "and", negated, sql_type))
            return node
        case Call("and" | "or" as word, (first, *others), sql_type) if others:
            parts, rest = list[Expr](), [*reversed(others), first]
            while rest:
                part = rest.pop()
                made = _plain(part) if isinstance(part, Call) and part.function in ("not", "in") else part
                if isinstance(made, Call) and made.function == word:
                    rest += reversed(made.args)
                else:
                    parts.append(part)
            return Call(word, tuple(parts), sql_type)
    return node


def _is_constant(expr: Expr) -> bool:
    while isinstance(expr, Cast):
        expr = expr.arg
    return isinstance(expr, Literal)


def _undeclared(expr: Expr) -> Expr:
    """A number that is compared, without a cast that only adds decimals."""
    match expr:
        case Cast(arg, sql_type, False) if {arg.type.kind, sql_type.kind} == {TypeKind.NUMERIC}:
            return arg if not sql_type.declared and (sql_type.scale or 0) >= (arg.type.scale or 0) else expr
    return expr


_OPPOSITE = {
    "eq": "ne",
    "lt": "ge",
    "le": "gt",
    "ge": "lt",
    "gt": "le",
    "is_distinct_from": "is_not_distinct_from",
    "is_null": "is_not_null",
    "is_not_null": "is_null",
}
