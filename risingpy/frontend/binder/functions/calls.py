"""Function calls: scalar functions of the signature table, forms with their own typing, and aggregates."""

from __future__ import annotations

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, SqlError, SyntaxError_, UndefinedFunction
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.nested import bind_field, bound_row, row_items
from risingpy.frontend.binder.functions.aggregate_calls import bind_aggregate, bind_grouping
from risingpy.frontend.binder.functions.arguments import bound_arguments, has_names, has_variadic, without_results
from risingpy.frontend.binder.functions.array_query import array_query, is_array_query
from risingpy.frontend.binder.functions.built_in_names import in_order
from risingpy.frontend.binder.functions.json_names import as_json, json_arguments, of_json
from risingpy.frontend.binder.functions.lambdas import LAMBDA_FUNCTIONS, bind_lambda_call
from risingpy.frontend.binder.functions.maps import MAP_FUNCTIONS
from risingpy.frontend.binder.functions.populate import is_null_record, no_row_type
from risingpy.frontend.binder.functions.special import SPECIAL, extracted
from risingpy.frontend.binder.functions.system import NEED_SYSTEM, SYSTEM_FUNCTIONS
from risingpy.frontend.binder.functions.table_functions import is_set_returning, users_schema
from risingpy.frontend.binder.functions.user_defined import bind_user_function, has_kind
from risingpy.frontend.binder.functions.variadic import bind_variadic, written_out
from risingpy.frontend.binder.scope.aggregates import GROUPING
from risingpy.frontend.binder.scope.context import SystemUse
from risingpy.frontend.binder.trees import name_of, position_of
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.type_names import CAST_FUNCTIONS
from risingpy.frontend.parser.keywords import RESERVED
from risingpy.functions.signatures import AGGREGATES, SCALARS, WINDOW_FUNCTIONS
from risingpy.plan.catalog import FunctionKind
from risingpy.plan.expressions import Expr, Literal
from risingpy.types.system_types import NAME, TEXT

# Functions that PostgreSQL and RisingWave have and this version does not: refused by name, not as unknown.
UNSUPPORTED_FUNCTIONS = frozenset(
    {"current_time", "uuid_generate_v1", "uuid_generate_v1mc"}  # and of the extensions uuid-ossp and pgcrypto
    | {"crypt", "gen_salt", "encrypt_iv", "decrypt_iv", "pgp_sym_encrypt", "pgp_sym_decrypt"}
    | {"pgp_sym_encrypt_bytea", "pgp_sym_decrypt_bytea", "pgp_pub_encrypt", "pgp_pub_decrypt"}
    | {"pgp_pub_encrypt_bytea", "pgp_pub_decrypt_bytea", "pgp_key_id", "armor", "dearmor", "pgp_armor_headers"}
)


def bind_function(binder: ExpressionBinder, tree: exp.Anonymous) -> Expr:
    """A call by name. Raises a syntax error where PostgreSQL's grammar reserves the name."""
    if isinstance(tree.this, str) and tree.this.lower() in RESERVED:
        raise SyntaxError_(f'syntax error at or near "{tree.this}"', position=position_of(tree))
    name = name_of(tree.this)
    of_jsonb = of_json(binder, name)
    if (of_jsonb or name) == "jsonb_populate_record" and is_null_record(tree.expressions):
        raise no_row_type(name, position_of(tree))
    return _call(binder, tree, name) if of_jsonb is None else _json_call(binder, tree, name, of_jsonb)


def _json_call(binder: ExpressionBinder, tree: exp.Anonymous, name: str, of_jsonb: str) -> Expr:
    """The call of a function of json, by that of jsonb. An error about the call has the name that is written."""
    try:
        return as_json(name, _call(binder, tree, of_jsonb))
    except UndefinedFunction as error:
        if error.position == position_of(tree):
            error.rewrite(lambda text: text.replace(f" {of_jsonb}(", f" {name}(", 1))
        raise


def bind_qualified(binder: ExpressionBinder, tree: exp.Dot) -> Expr:
    """`pg_catalog.f(…)`: the schema of all functions."""
    inner = tree.expression
    if not isinstance(inner, exp.Anonymous):
        return bind_field(binder, tree)
    schema = users_schema(inner)
    if schema is not None:
        element = _element(binder, inner, position_of(tree))
        if element is not None:
            return element
        args = bound_arguments(binder, inner.expressions)
        return bind_user_function(binder, schema, name_of(inner.this), args, position_of(tree))
    return bind_function(binder, inner)


def _call(binder: ExpressionBinder, tree: exp.Anonymous, name: str) -> Expr:
    position = position_of(tree)
    if is_array_query(tree):
        return array_query(binder, tree)
    if name in AGGREGATES or has_kind(binder, FunctionKind.AGGREGATE, name):
        return bind_aggregate(binder, tree, name)
    if name == GROUPING:
        return bind_grouping(binder, tree)
    if name in WINDOW_FUNCTIONS:
        message = f"window function {name} requires an OVER clause"
        raise SqlError(message, sqlstate="42809", position=position)
    element = _element(binder, tree, position)
    if element is not None:
        return element
    if name in UNSUPPORTED_FUNCTIONS and not _is_users(binder, name):
        raise FeatureNotSupported(f"function {name} is not supported", position=position)
    _refuse_what_aggregates_take(tree, name)
    arguments: list[exp.Expr] = tree.expressions
    if has_variadic(arguments) and not (_is_users(binder, name) and name not in SCALARS):
        elements = written_out(name, arguments)
        if elements is None:
            return bind_variadic(binder, name, arguments, position)
        arguments = elements
    if name in LAMBDA_FUNCTIONS:
        return bind_lambda_call(binder, tree, name)
    if name in NEED_SYSTEM:
        binder.context.system_uses.append(SystemUse(name, position))
    if (has_names(arguments) or has_variadic(arguments)) and (name not in SCALARS or _is_users(binder, name)):
        return bind_user_function(binder, None, name, bound_arguments(binder, arguments), position)
    if name == "row":
        return bound_row(binder, row_items(binder, arguments), position)
    args = without_results([binder.bind(argument) for argument in in_order(name, arguments)])
    return _scalar_call(binder, name, json_arguments(binder, tree, args), position)


def _element(binder: ExpressionBinder, tree: exp.Anonymous, position: int) -> Expr | None:
    """What stands for a set-returning call of a select list; None of another function. Raises for one elsewhere."""
    if id(tree) in binder.sets:
        return binder.sets[id(tree)]
    if is_set_returning(binder, tree):
        raise _set_not_allowed(binder, position)
    return None


def _set_not_allowed(binder: ExpressionBinder, position: int) -> FeatureNotSupported:
    if binder.clause in ("aggregate", "window"):
        message = f"{binder.clause} function calls cannot contain set-returning function calls"
        return FeatureNotSupported(message, position=position, hint="Move the function into FROM: FROM t, f(t.a) AS x.")
    return FeatureNotSupported(f"set-returning functions are not allowed in {binder.clause}", position=position)


def _refuse_what_aggregates_take(tree: exp.Anonymous, name: str) -> None:
    for argument in tree.expressions:
        if isinstance(argument, exp.Distinct | exp.Order):
            word = "DISTINCT" if isinstance(argument, exp.Distinct) else "ORDER BY"
            message = f"{word} specified, but {name} is not an aggregate function"
            raise SqlError(message, sqlstate="42809", position=position_of(tree))


def _scalar_call(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """The call of a function of one row. Casts written as calls, and users' functions, come after the built-in ones."""
    special = SPECIAL.get(name) or MAP_FUNCTIONS.get(name) or SYSTEM_FUNCTIONS.get(name)
    if special is not None:
        return special(binder, name, args, position)
    constants = binder.context.constants
    if name in constants and not args:
        return Literal(constants[name], TEXT if name == "version" else NAME)
    if name in SCALARS:
        try:
            return binder.calls.function(name, args, position)
        except UndefinedFunction:
            if not _is_users(binder, name) and (name not in CAST_FUNCTIONS or len(args) != 1):
                raise
    if name in CAST_FUNCTIONS and len(args) == 1 and not _is_users(binder, name):
        return binder.context.coercer.coerce(args[0], CAST_FUNCTIONS[name], Context.EXPLICIT)
    enum = binder.context.types.find((name,)) if len(args) == 1 and not _is_users(binder, name) else None
    if enum is not None:
        return binder.context.coercer.coerce(args[0], enum, Context.EXPLICIT)
    return bind_user_function(binder, None, name, args, position)


def _is_users(binder: ExpressionBinder, name: str) -> bool:
    return bool(binder.context.catalog.functions_named(name, None, binder.context.search_path))


def bind_extract(binder: ExpressionBinder, tree: exp.Extract) -> Expr:
    """EXTRACT gives numeric, where date_part gives double precision."""
    return extracted(binder, tree.this.name, binder.bind(tree.expression), "extract", position_of(tree))
