"""Functions that give rows: in FROM, where they may read what stands before them, and in the select list.

FROM t, unnest(t.a) WITH ORDINALITY AS u(x, n)   =>  ProjectSet(unnest(a); t): x is its element, n its number
FROM t, ROWS FROM (f(t.a), g(t.b)) AS r(x, y)    =>  ProjectSet(f(a), g(b); t): they go in step
FROM t, unnest(t.rows) AS u                      =>  ProjectSet(unnest(rows); t): the fields of its rows are columns

`selected_sets.py` has those in the select list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from risingpy.errors import SqlError, SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions import populate
from risingpy.frontend.binder.functions.arguments import bound_arguments
from risingpy.frontend.binder.functions.built_in_names import in_order
from risingpy.frontend.binder.functions.json_names import JSON_SETS, json_arguments
from risingpy.frontend.binder.functions.multiranges import unnested
from risingpy.frontend.binder.functions.privileges import EXPLODED
from risingpy.frontend.binder.functions.system import KNOWN_SETS, known_values
from risingpy.frontend.binder.functions.user_defined import (
    as_defined,
    bind_user_function,
    chosen_function,
    gives_records,
    has_kind,
    has_outputs,
    no_definitions,
    user_rows,
    user_value,
)
from risingpy.frontend.binder.plans import project_set, whole_row
from risingpy.frontend.binder.scope.columns import Scope, ScopeColumn, ScopeTable
from risingpy.frontend.binder.trees import name_of, position_of
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.domain_names import refuse_domain
from risingpy.frontend.binder.typing.overloads import NoMatch, resolve
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.frontend.binder.typing.type_names import resolve_type
from risingpy.frontend.parser.parser_tools import TYPE_TEXT
from risingpy.functions.signatures import TABLE_FUNCTIONS
from risingpy.plan.catalog import FunctionKind
from risingpy.plan.expressions import Call, Case, Expr, InputRef, Literal
from risingpy.plan.logical import LogicalPlan
from risingpy.types import BIGINT, BOOLEAN, INTEGER, VARCHAR, SqlType, TypeKind, array_of, struct_of
from risingpy.types.system_types import RECORD, SYSTEM_TYPES, is_vector

GAP_FILL = "gap_fill"
OF_RELATIONS = ("tumble", "hop", GAP_FILL)  # whose first argument is the name of a relation
_EXPLODE = "aclexplode"

# Functions of several columns, each of which is a list: the columns' names and functions.
_COLUMNS = {
    "jsonb_each": (("key", "jsonb_each_keys"), ("value", "jsonb_each_values")),
    "jsonb_each_text": (("key", "jsonb_each_text_keys"), ("value", "jsonb_each_text_values")),
}
# Functions whose only column has a name of its own, and those that are a set of an array function's elements.
_COLUMN_NAME = {"jsonb_array_elements": "value", "jsonb_array_elements_text": "value"}
# Functions whose rows are made of jsonb objects: those of a column definition list, and those of a row's type.
_OF_DEFINITIONS = ("jsonb_to_record", "jsonb_to_recordset")
_OF_ROW = ("jsonb_populate_record", "jsonb_populate_recordset")
_OF_ARRAY = {"regexp_split_to_table": "regexp_split_to_array"}
EXPAND_ARRAY = "_pg_expandarray"  # of information_schema, which clients ask the columns of keys with
_SETS = ("unnest", EXPAND_ARRAY, "jsonb_to_recordset", "jsonb_populate_recordset")


@dataclass(frozen=True, slots=True)
class Lists:
    """What a call gives: a list per column, and the columns' names, `named` if they are more than the function's.

    `function` is the function's name. With `of_rows` there is one list, of structs, whose fields are the columns; with
    `members` too, one of what the columns are computed of. In FROM, nobody has named the columns of `unnamed` ones.
    """

    exprs: tuple[Expr, ...]
    names: tuple[str, ...]
    named: bool
    function: str
    of_rows: bool = False
    unnamed: bool = False
    members: Callable[[Expr], tuple[Expr, ...]] | None = None


def function_of(tree: exp.Expr | None) -> exp.Expr | None:
    """The call of an item of FROM, if it is one; of ROWS FROM the first of its calls."""
    if isinstance(tree, exp.Unnest):
        return tree
    if isinstance(tree, exp.Table) and tree.args.get("rows_from"):
        return function_of(tree.args["rows_from"][0])
    if isinstance(tree, exp.Lateral):
        called = tree.this.expression if isinstance(tree.this, exp.Dot) else tree.this
        return called if isinstance(called, exp.Func | exp.Unnest) else None
    if not isinstance(tree, exp.Table) or not isinstance(tree.this, exp.Func):
        return None
    is_window = isinstance(tree.this, exp.Anonymous) and name_of(tree.this.this) in OF_RELATIONS
    return None if is_window else tree.this


def is_set_returning(binder: ExpressionBinder, tree: exp.Expr) -> bool:
    """Whether a call gives a set of rows."""
    if isinstance(tree, exp.Unnest):
        return True
    if not isinstance(tree, exp.Anonymous):
        return False
    name, schema = name_of(tree.this), users_schema(tree)
    return (schema is None and is_name_of_set(name)) or has_kind(binder, FunctionKind.TABLE, name, schema)


def users_schema(call: exp.Expr) -> str | None:
    """The schema that stands in front of a call, in FROM or elsewhere; None without one, and for the system's."""
    match call.parent:
        case exp.Table(args={"db": exp.Identifier() as written}):
            pass
        case exp.Dot(this=written) as dot if dot.expression is call:
            pass
        case _:
            return None
    schema = name_of(written.this if isinstance(written, exp.Column) else written)
    of_system = schema == "pg_catalog" or (schema == "information_schema" and _name(call) == EXPAND_ARRAY)
    return None if of_system else schema


def _name(call: exp.Expr) -> str:
    if isinstance(call, exp.Unnest):
        return "unnest"
    name = name_of(call.this)
    return JSON_SETS.get(name, name)


def is_name_of_set(name: str) -> bool:
    """Whether a function of the system gives rows and is called so."""
    return (
        name == _EXPLODE
        or (name in JSON_SETS and not name.endswith("_record"))
        or name in KNOWN_SETS
        or name in TABLE_FUNCTIONS
        or name in _COLUMNS
        or name in _OF_ARRAY
        or name in _SETS
    )


def bind_lists(binder: ExpressionBinder, call: exp.Expr, definitions: SqlType | None = None) -> Lists:
    """The lists of a call. Any other function is a set of one row. `definitions` is a column definition list's row."""
    schema = users_schema(call)
    if schema is None:
        return _lists_of(binder, call, definitions)
    return _users_in_schema(binder, schema, call, definitions)


def _lists_of(binder: ExpressionBinder, call: exp.Expr, definitions: SqlType | None) -> Lists:
    if (name := _name(call)) == "unnest":
        return _unnest(binder, call)
    if name in _OF_DEFINITIONS or name in _OF_ROW:
        return _of_json(binder, name, call, definitions)
    given = in_order(name, call.expressions) if is_name_of_set(name) else call.expressions
    args, position = json_arguments(binder, call, bound_arguments(binder, given)), position_of(call)
    if name == EXPAND_ARRAY:
        return _expanded_array(binder, args, position)
    if name in _COLUMNS:
        exprs = tuple(bind_list(binder, function, args, position, name) for _, function in _COLUMNS[name])
        return Lists(exprs, tuple(column for column, _ in _COLUMNS[name]), True, name)
    if name == _EXPLODE and len(args) == 1:
        items = binder.context.coercer.coerce(args[0], array_of(SYSTEM_TYPES["aclitem"]), Context.EXPLICIT)
        lists = tuple(Call(function, (items,), array_of(type_)) for _, function, type_ in EXPLODED)
        return Lists(lists, tuple(column for column, *_ in EXPLODED), True, name)
    if name in KNOWN_SETS:
        columns, values = KNOWN_SETS[name], known_values(binder.context.session, name)
        known = tuple(Literal(given, array_of(type_)) for (_, type_), given in zip(columns, values, strict=True))
        names = tuple(column for column, _ in columns)
        return Lists(known, names, names != (name,), name)
    if name == "generate_subscripts" and args and is_vector(args[0].type):
        return Lists((Call("vector_subscripts", (args[0].expr,), array_of(INTEGER)),), (name,), False, name)
    if name in TABLE_FUNCTIONS:
        made = bind_list(binder, name, args, position, name)
        return Lists((made,), (_COLUMN_NAME.get(name, name),), name in _COLUMN_NAME, name)
    if name in _OF_ARRAY:
        return Lists((binder.calls.function(_OF_ARRAY[name], args, position, shown=name),), (name,), False, name)
    if (rows := _rows_of_users(binder, None, call, args, definitions)) is not None:
        return rows
    return _one(binder.context.coercer.settled(binder.bind(call)), name)


def _users_in_schema(binder: ExpressionBinder, schema: str, call: exp.Expr, definitions: SqlType | None) -> Lists:
    """The call `schema.f(…)` of a user's function: its rows, or the one that it gives."""
    name, args = _name(call), bound_arguments(binder, call.expressions)
    if (rows := _rows_of_users(binder, schema, call, args, definitions)) is not None:
        return rows
    return _one(bind_user_function(binder, schema, name, args, position_of(call)), name)


def _one(value: Expr, name: str) -> Lists:
    """A function that gives one value: a set of one row."""
    return _one_list(Call("array", (value,), array_of(value.type)), value.type, name)


def _one_list(made: Expr, of: SqlType, name: str, column: str = "") -> Lists:
    """The values of a list as the rows of a function: a row's fields are the columns."""
    if of.kind is TypeKind.STRUCT:
        return Lists((made,), of.names, True, name, of_rows=True)
    return Lists((made,), (column or name,), bool(column), name)


def _rows_of_users(
    binder: ExpressionBinder, schema: str | None, call: exp.Expr, args: list[Operand], definitions: SqlType | None
) -> Lists | None:
    """Those of a user's table function, and the value of one with an OUT argument, by its name; None of any other.

    So also the value of one that gives a record.
    """
    name, position = _name(call), position_of(call)
    is_known = has_kind(binder, FunctionKind.TABLE, name, schema) or has_outputs(binder, name, schema)
    if not is_known and not gives_records(binder, name, schema):
        return None
    function, given = chosen_function(binder, schema, name, args, position)
    is_record, function = function.result == RECORD, as_defined(function, definitions, position)
    if function.kind is FunctionKind.TABLE:
        made = user_rows(binder, function, given, call)
    elif function.column or is_record:
        value = user_value(binder, function, given, position)
        made = Call("array", (value,), array_of(value.type))
    else:
        return None
    lists = _one_list(made, made.type.element if is_record else function.result, name, function.column)
    return replace(lists, unnamed=is_record and definitions is None)


def _unnest(binder: ExpressionBinder, call: exp.Expr) -> Lists:
    exprs = unnested(binder, [binder.bind(argument) for argument in call.expressions], position_of(call))
    return Lists(exprs, ("unnest",) * len(exprs), False, "unnest")


def _of_json(binder: ExpressionBinder, name: str, call: exp.Expr, definitions: SqlType | None) -> Lists:
    """Rows made of an object, or of each of an array: like the row that is given, or as they are defined."""
    given, position = list(call.expressions), position_of(call)
    no_row = name in _OF_ROW and populate.is_null_record(given)
    if no_row:
        given[0] = exp.Null()
    args = json_arguments(binder, call, bound_arguments(binder, given))
    if name in _OF_ROW and not no_row:
        base, _ = populate.base_and_json(binder, name, args, position)
        names = base.type.names if definitions is None else populate.defined_names(base.type, definitions, position)
        return _of_objects(binder, name, base, args[1:], position, names)
    if definitions is None:
        raise populate.no_row_type(name_of(call.this), position) if no_row else populate.no_record_here(position)
    rest = args[1:] if no_row else args
    return _of_objects(binder, name, Literal(None, definitions), rest, position, definitions.names)


def _of_objects(
    binder: ExpressionBinder, name: str, base: Expr, args: Sequence[Operand], position: int, names: tuple[str, ...]
) -> Lists:
    """Rows like `base` made of an object, or of each of an array."""
    value, coercer = populate.json_argument(binder, name, args, position), binder.context.coercer
    if name.endswith("set"):
        listed = populate.of_kind(value, name.removeprefix("jsonb_"), array_of(value.type))
    else:  # of no object at all it is the base row, as of an empty one
        root = Call("coalesce", (populate.root_object(value), Literal("{}", value.type)), value.type)
        listed = Call("array", (root,), array_of(value.type))

    def columns(element: Expr) -> tuple[Expr, ...]:
        """NULL where an outer join, or a longer list beside, has no element: there is no base row then."""
        fields = populate.members(coercer, element, base)
        absent = Call("is_null", (element,), BOOLEAN)
        return tuple(Case(((absent, Literal(None, field.type)),), field, field.type) for field in fields)

    return Lists((listed,), names, True, name, True, members=columns)


def _expanded_array(binder: ExpressionBinder, args: Sequence[Operand], position: int) -> Lists:
    """An array's elements x and their subscripts n."""
    if len(args) != 1 or args[0].type.kind is not TypeKind.ARRAY:
        raise no_function(EXPAND_ARRAY, args, position)
    dimension = Operand(Literal(1, INTEGER), position)
    subscripts = bind_list(binder, "generate_subscripts", [args[0], dimension], position, EXPAND_ARRAY)
    return Lists((args[0].expr, subscripts), ("x", "n"), True, EXPAND_ARRAY)


def bind_list(
    binder: ExpressionBinder, name: str, args: Sequence[Operand], position: int, shown: str | None = None
) -> Expr:
    """The call of a function of TABLE_FUNCTIONS: a list, of whose elements rows are made. Errors call it `shown`."""
    try:
        signature = resolve(TABLE_FUNCTIONS[name], [a.type for a in args], operator=False)
    except NoMatch as no_match:
        raise no_function(shown or name, args, position, ambiguous=no_match.ambiguous) from None
    return binder.calls.apply(signature, args)


# -- in FROM ------------------------------------------------------------------------------------------------------


def expanded(
    left: tuple[LogicalPlan, Scope], binder: ExpressionBinder, tree: exp.Expr, *, outer: bool
) -> tuple[LogicalPlan, Scope]:
    """`left` with the rows of a call, or of those in ROWS FROM, for each of its rows, and the names of the columns."""
    calls = _calls(tree, binder)
    parts = [part for call, definitions in calls for part in _parts(binder, call, definitions)]
    exprs, called = [e for part in parts for e in part.exprs], [n for part in parts for n in list_names(part)]
    plan, number = project_set(left[0], exprs, called, outer=outer)
    alias = tree.args.get("alias")
    shown = name_of(alias.this) if alias is not None and alias.this is not None else ""
    call, first = calls[0][0], parts[0]
    names, columns = [name for part in parts for name in part.names], []
    if shown and not first.named and len(names) == 1:
        names = [shown]
    at = number + 1
    for part in parts:
        columns += _columns(part, plan, at)
        at += len(part.exprs)
    given = [name_of(c.this if isinstance(c, exp.ColumnDef) else c) for c in _alias_columns(alias)]
    # Where sqlglot keeps WITH ORDINALITY of UNNEST: its last alias, or true.
    offset = call.args.get("offset") if isinstance(call, exp.Unnest) else None
    if tree.args.get("ordinality") or offset:
        names.append("ordinality")
        columns.append(InputRef(number, BIGINT))
        if isinstance(offset, exp.Identifier) and name_of(offset) != "offset":
            given.append(name_of(offset))
    if len(given) > len(names):
        message = f'table "{shown}" has {len(names)} columns available but {len(given)} columns specified'
        raise SqlError(message, sqlstate="42P10")
    names[: len(given)] = given
    found = tuple(ScopeColumn(name, column) for name, column in zip(names, columns, strict=True))
    whole = columns[0] if len(columns) == 1 else None
    if len(parts) == 1 and first.of_rows and first.members is None and len(columns) == len(first.names):
        whole = whole_row(plan, number)
    return plan, Scope((ScopeTable(shown or first.function, None, found, whole=whole),), found)


def _parts(binder: ExpressionBinder, call: exp.Expr, definitions: SqlType | None) -> list[Lists]:
    """The lists of a call. In FROM each array of rows that unnest takes gives the columns of its rows."""
    lists = bind_lists(binder, call, definitions)
    if lists.unnamed:
        raise no_definitions(position_of(call))
    if not isinstance(call, exp.Unnest):
        return [lists]
    return [_one_list(each, each.type.element, "unnest") for each in lists.exprs]


def _calls(tree: exp.Expr, binder: ExpressionBinder) -> list[tuple[exp.Expr, SqlType | None]]:
    """The calls of an item of FROM, each with the row type of its column definition list."""
    items = tree.args.get("rows_from") if isinstance(tree, exp.Table) else None
    calls = []
    for item in items or [tree]:
        call, alias = function_of(item), item.args.get("alias")
        named = items and (alias is not None and alias.this is not None)
        if call is None or named or (items and (item.args.get("ordinality") or item.args.get("offset"))):
            message = "ROWS FROM takes calls of functions, each with a column definition list at most"
            raise SyntaxError_(message, position=position_of(tree if call is None else call))
        calls.append((call, definition_list(item, call, binder)))
    return calls


def definition_list(tree: exp.Expr, call: exp.Expr, binder: ExpressionBinder) -> SqlType | None:
    """The row type of a column definition list: `AS r(a int, b text)`."""
    columns = [c for c in _alias_columns(tree.args.get("alias")) if isinstance(c, exp.ColumnDef) and c.args.get("kind")]
    name = _name(call) if isinstance(call, exp.Anonymous) else ""
    of_row = name in _OF_ROW
    needed = name in _OF_DEFINITIONS or (of_row and populate.is_null_record(call.expressions))
    types, schema = binder.context.types, users_schema(call)
    if needed == bool(columns) or of_row > needed or (name and gives_records(binder, name, schema)):
        kinds = [column.args["kind"] for column in columns]
        for kind in kinds:
            refuse_domain(str(kind.meta[TYPE_TEXT]), position_of(kind), types, "a column of a function's rows")
        items = [resolve_type(str(kind.meta[TYPE_TEXT]), position_of(kind), types) for kind in kinds]
        return struct_of([name_of(column.this) for column in columns], items) if columns else None
    if needed:
        raise no_definitions(position_of(call))
    message = 'a column definition list is only allowed for functions returning "record"'
    raise SyntaxError_(message, position=position_of(call))


def list_names(lists: Lists) -> Sequence[str]:
    """The names of the lists, of which one of rows has several columns."""
    return (lists.function,) if lists.of_rows else lists.names


def _columns(lists: Lists, plan: LogicalPlan, at: int) -> list[Expr]:
    """A call's columns, whose elements stand from `at` on."""
    elements = [InputRef(at + k, plan.schema[at + k].type) for k in range(len(lists.exprs))]
    if not lists.of_rows:
        return [*elements]
    (row,) = elements
    if lists.members is not None:
        return [*lists.members(row)]
    named = zip(row.type.names, row.type.items, strict=True)
    return [Call("field", (row, Literal(name, VARCHAR)), type_) for name, type_ in named]


def _alias_columns(alias: exp.Expr | None) -> list[exp.Expr]:
    return [] if alias is None else list(alias.args.get("columns") or ())
