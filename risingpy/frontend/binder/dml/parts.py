"""Assignments to a part of a column: `arr[2] = 5`, `arr[1:2] = …`, `comp.field = x`, `j['a']['b'] = '1'`.

The whole column is computed anew, from its old value and the part's new one. A column that is NULL counts as an empty
array, as a row of NULLs, or, by the kind of the first subscript, as an empty jsonb array or object.

    SET arr[2] = 5           array_put(arr, 2, 5)
    SET comp.f = x           row(x, field(comp, 'g'))
    SET j['a']['b'] = '1'    jsonb_put(coalesce(j, '{}'), array('a', 'b'), '1')

Source: PostgreSQL's manual, 8.14.5 (jsonb subscripting), 8.15.4 (modifying arrays) and 8.16.4 (composite types).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from risingpy.errors import DatatypeMismatch, FeatureNotSupported, UndefinedColumn
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.nested import array_bound, constructed, field_of, jsonb_step
from risingpy.frontend.binder.typing.coercion import Context, Operand, can_coerce
from risingpy.frontend.parser.ast_parts import FieldStep, SubscriptStep, TargetColumn
from risingpy.plan.catalog import Table
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import BOOLEAN, JSONB, SqlType, TypeKind, array_of
from risingpy.types.system_types import TEXT

Step = FieldStep | SubscriptStep


def parts_of(
    binder: ExpressionBinder, relation: Table, columns: Sequence[TargetColumn] | None, targets: Sequence[int]
) -> list[ColumnPart | None]:
    """The parts that INSERT names, None for a whole column; `targets` are where the columns stand in the relation."""
    if columns is None:
        return [None] * len(targets)
    types = [relation.columns[index].type for index in targets]
    named = zip(columns, types, strict=True)
    return [ColumnPart(binder, column, type_) if column.steps else None for column, type_ in named]


@dataclass(frozen=True, slots=True)
class ColumnPart:
    """The part of a column that a statement names. `binder` knows what its subscripts may read."""

    binder: ExpressionBinder
    column: TargetColumn
    column_type: SqlType

    def refuse_default(self) -> NoReturn:
        """Raises FeatureNotSupported: a part has no default."""
        kind = "a subfield" if isinstance(self.column.steps[0], FieldStep) else "an array element"
        raise FeatureNotSupported(f"cannot set {kind} to DEFAULT", position=self.column.position)

    def value_type(self) -> SqlType:
        """The type of what is assigned. Raises DatatypeMismatch, UndefinedColumn."""
        type_, name = self.column_type, self.column.name
        for step in self.column.steps:
            if isinstance(step, FieldStep):
                type_ = self._field_type(type_, step)
            elif type_.kind is TypeKind.JSONB:
                return JSONB
            elif type_.kind is not TypeKind.ARRAY:
                message = f"cannot subscript type {type_.name} because it does not support subscripting"
                raise DatatypeMismatch(message, position=self.column.position)
            elif not step.tree.args.get("slice"):
                type_ = type_.element
            elif step is not self.column.steps[-1]:
                message = f'assignment to a part of a slice of column "{name}" is not supported'
                raise FeatureNotSupported(message, position=step.position)
        return type_

    def _field_type(self, type_: SqlType, step: FieldStep) -> SqlType:
        target = f'cannot assign to field "{step.name}" of column "{self.column.name}"'
        if type_.kind is not TypeKind.STRUCT:
            message = f"{target} because its type {type_.name} is not a composite type"
            raise DatatypeMismatch(message, position=self.column.position)
        if step.name not in type_.names:
            message = f"{target} because there is no such column in data type {type_.name}"
            raise UndefinedColumn(message, position=self.column.position)
        return type_.items[type_.names.index(step.name)]

    def assigned(self, operand: Operand) -> Expr:
        """The part's new value, as it is stored. Raises DatatypeMismatch."""
        coercer, wanted = self.binder.context.coercer, self.value_type()
        operand = coercer.as_deep_as(operand, wanted)
        if can_coerce(operand.type, wanted, Context.ASSIGNMENT):
            return coercer.assign(operand, wanted)
        last = self.column.steps[-1]
        of_field = f'subfield "{last.name}" is of' if isinstance(last, FieldStep) else ""
        target = of_field or f'subscripted assignment to "{self.column.name}" requires'
        message = f"{target} type {wanted.name} but expression is of type {operand.type.name}"
        hint = "You will need to rewrite or cast the expression."
        raise DatatypeMismatch(message, position=operand.position, hint=hint)

    def put(self, old: Expr, value: Expr) -> Expr:
        """The column with `value` for the part, which `assigned` has made; `old` is the column before."""
        return self._put(old, self.column.steps, value)

    def _put(self, old: Expr, steps: Sequence[Step], value: Expr) -> Expr:
        if not steps:
            return value
        match steps[0]:
            case FieldStep(name):
                return self._put_field(old, name, steps[1:], value)
            case SubscriptStep(tree) if old.type.kind is TypeKind.JSONB:
                return self._put_member(old, steps, value)
            case SubscriptStep(tree) if tree.args.get("slice"):
                bounds = [array_bound(self.binder, tree.args.get(key), None) for key in ("lower", "upper")]
                given = [Literal(tree.args.get(key) is not None, BOOLEAN) for key in ("lower", "upper")]
                return Call("array_put_slice", (old, *bounds, *given, value), old.type)
            case SubscriptStep(tree):
                index = array_bound(self.binder, tree.args["index"], None)
                inner = value
                if len(steps) > 1:
                    inner = self._put(Call("subscript", (old, index), old.type.element), steps[1:], value)
                return Call("array_put", (old, index, inner), old.type)

    def _put_field(self, old: Expr, name: str, steps: Sequence[Step], value: Expr) -> Expr:
        """The other fields stay. Of a row that an assignment before this one has made, they are at hand."""
        made = old.args if isinstance(old, Call) and old.function == "row" else None
        fields = [field_of(old, each) for each in old.type.names] if made is None else list(made)
        place = old.type.names.index(name)
        fields[place] = self._put(fields[place], steps, value)
        return Call("row", tuple(fields), old.type)

    def _put_member(self, old: Expr, steps: Sequence[Step], value: Expr) -> Expr:
        path: list[Expr] = []
        is_array = False
        for step in steps:
            if isinstance(step, FieldStep):
                self._field_type(JSONB, step)
            else:
                expr, counts = jsonb_step(self.binder, step.tree)
                is_array = counts if not path else is_array
                path.append(expr)
        known = Call("coalesce", (old, Literal("[]" if is_array else "{}", JSONB)), JSONB)
        return Call("jsonb_put", (known, constructed("array", path, array_of(TEXT)), value), JSONB)
