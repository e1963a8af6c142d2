"""WITH MUTUALLY RECURSIVE name (column type, …) AS (query), …: queries that read each other, and themselves.

Materialize's form of recursion: the queries are computed in turn until no one changes, so each may read every other any
number of times, and group, compare or negate what it reads. The columns' types are declared, as no query has a part
that reads none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sqlglot import exp

from risingpy.errors import CannotCoerce, DatatypeMismatch, FeatureNotSupported, SqlError, SyntaxError_
from risingpy.frontend.binder.plans import converted, references, settled
from risingpy.frontend.binder.query.written_rows import WrittenRows
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.frontend.binder.typing.type_names import resolve_type
from risingpy.frontend.parser.dml.within import WriteInWith
from risingpy.frontend.parser.parser_tools import TYPE_TEXT
from risingpy.frontend.parser.with_parser import CHANGELOG, MutuallyRecursive
from risingpy.optimizer.rewrite import correlated_refs, plan_inputs, recursive_names
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.logical import Field, Filter, LogicalPlan, MutualRecursion, Project, Recursion, RecursiveScan, Schema
from risingpy.types import BOOLEAN, INTEGER, SqlType

BindAmong = Callable[[exp.Expr, Mapping[str, LogicalPlan]], LogicalPlan]
"""Binds a query in which these names are plans."""

ITEM = Field("_item", INTEGER, hidden=True)


def bound_items(with_: exp.With, context: BindContext, bind: BindAmong) -> dict[str, LogicalPlan]:
    """The rows of each item of a WITH MUTUALLY RECURSIVE, by its name."""
    schemas = {name_of(cte.args["alias"].this): _declared(cte, context) for cte in with_.expressions}
    # A recursion inside of an item may have the same name. Nothing else of this text begins at the same place.
    at = begin_of(with_.expressions[0].args["alias"])
    scans = {name: RecursiveScan(f"{name}@{at}", schema) for name, schema in schemas.items()}
    scanned = tuple(scan.name for scan in scans.values())
    items = tuple(
        _item(cte, schema, context, bind(cte.this, scans))
        for cte, schema in zip(with_.expressions, schemas.values(), strict=True)
    )
    for cte, item in zip(with_.expressions, items, strict=True):
        _check(item, scanned, cte)
    columns = (ITEM, *(field for schema in schemas.values() for field in schema))
    limit, returns = _limit(with_.args["recursive"])
    whole = MutualRecursion(items, scanned, columns, limit, returns)
    return {name: _rows_of(whole, number) for number, name in enumerate(schemas)}


def _declared(cte: exp.CTE, context: BindContext) -> Schema:
    """The columns of an item, as they are declared."""
    alias = cte.args["alias"]
    columns = alias.args.get("columns") or ()
    if not columns or any(not isinstance(c, exp.ColumnDef) or c.args.get("kind") is None for c in columns):
        raise SyntaxError_(
            f'WITH MUTUALLY RECURSIVE query "{name_of(alias.this)}" must declare its columns with their types',
            position=begin_of(alias),
            hint="Write: name (column type, …) AS (query).",
        )
    if (
        isinstance(cte.this, WriteInWith | WrittenRows)
        or cte.meta.get(CHANGELOG)
        or cte.args.get("search")
        or cte.args.get("cycle")
    ):
        raise FeatureNotSupported("an item of WITH MUTUALLY RECURSIVE must be a query", position=begin_of(alias))
    return tuple(Field(name_of(c.this), _type_of(c.args["kind"], context)) for c in columns)


def _type_of(kind: exp.Expr, context: BindContext) -> SqlType:
    position = begin_of(kind)
    type_ = resolve_type(str(kind.meta[TYPE_TEXT]), position, context.types)
    context.note_type(type_, position)
    return type_


def _item(cte: exp.CTE, schema: Schema, context: BindContext, plan: LogicalPlan) -> LogicalPlan:
    """The query of an item, whose columns are of the declared types, as those of an INSERT would be."""
    name = name_of(cte.args["alias"].this)
    position = begin_of(cte.this)
    if len(plan.schema) != len(schema):
        message = f'WITH MUTUALLY RECURSIVE query "{name}" declares {len(schema)} columns, but has {len(plan.schema)}'
        raise SqlError(message, sqlstate="42P10", position=position)

    def assigned(operand: Operand, place: int) -> Expr:
        try:
            return context.coercer.assign(operand, schema[place].type)
        except (CannotCoerce, DatatypeMismatch) as error:
            message = f'column {place + 1} of WITH MUTUALLY RECURSIVE query "{name}" is of type'
            shown = f"{message} {operand.type}, but {schema[place].type} is declared"
            raise DatatypeMismatch(shown, position=position, hint=error.hint) from None

    return settled(converted(plan, assigned, [position or 1] * len(schema)), context.coercer)


def _check(item: LogicalPlan, names: Sequence[str], cte: exp.CTE) -> None:
    """Refuses what an item cannot have: the row of a query around, and a recursion that reads the items."""
    if correlated_refs(item):
        message = "WITH MUTUALLY RECURSIVE cannot read columns of a query around it"
        raise FeatureNotSupported(message, position=begin_of(cte.this))
    for inner in _recursions(item):
        if not recursive_names(inner).isdisjoint(names):
            raise FeatureNotSupported(
                "a recursion inside of WITH MUTUALLY RECURSIVE cannot read its queries",
                position=begin_of(cte.this),
                hint="Make it one of the queries of WITH MUTUALLY RECURSIVE.",
            )


def _recursions(plan: LogicalPlan) -> Iterator[Recursion | MutualRecursion]:
    if isinstance(plan, Recursion | MutualRecursion):
        yield plan
    for each in plan_inputs(plan):
        yield from _recursions(each)


def _limit(recursive: MutuallyRecursive) -> tuple[int | None, bool]:
    given = recursive.args.get("limit")
    if given is None:
        return None, False
    text = given.name
    if not text.isdigit() or not int(text):
        message = f"the recursion limit must be a positive integer, and is {text}"
        raise SqlError(message, sqlstate="22023", position=begin_of(given))
    return int(text), bool(recursive.args.get("returns"))


def _rows_of(whole: MutualRecursion, number: int) -> LogicalPlan:
    """The rows of one item."""
    columns = whole.columns_of(number)
    own = Call("eq", (InputRef(0, INTEGER), Literal(number, INTEGER)), BOOLEAN)
    refs = references(whole.schema)[columns.start : columns.stop]
    return Project(Filter(whole, own), refs, whole.schema[columns.start : columns.stop])
