"""has_table_privilege and its like: the user (the session's, if none is given), the object, and the privileges.

Users and objects are given by name or by oid. What the texts mean is found out when the statement is bound, if they
are constants, else for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from risingpy.errors import SqlError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.functions.evaluation.rights.sql_privileges import PRIVILEGE_WORDS
from risingpy.plan.catalog import BOOTSTRAP_ROLE_ID
from risingpy.plan.catalog.acl import PUBLIC
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import BIGINT, BOOLEAN, SMALLINT, VARCHAR, SqlType, array_of
from risingpy.types.system_types import OID, SYSTEM_TYPES, TEXT, is_oid

_NAMED_BY = {"r": "regclass", "n": "regnamespace", "f": "regprocedure", "type": "regtype"}
_KINDS = {
    "has_table_privilege": "r",
    "has_schema_privilege": "n",
    "has_database_privilege": "d",
    "has_function_privilege": "f",
    "has_type_privilege": "type",
    "has_language_privilege": "language",
    "has_tablespace_privilege": "tablespace",
    "has_sequence_privilege": "sequence",
    "has_server_privilege": "server",
    "has_foreign_data_wrapper_privilege": "foreign-data wrapper",
}


def _has_privilege(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    user, (on, privileges) = _with_user(binder, name, args, 2, position)
    kind = _KINDS[name]
    bits = _bits(binder, kind, privileges)
    return Call(f"has_privilege_{kind}", (user, _object(binder, kind, on), bits), BOOLEAN)


def _has_any_column_privilege(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    user, (on, privileges) = _with_user(binder, name, args, 2, position)
    bits = _bits(binder, "c", privileges)
    return Call("has_privilege_on_any_column", (user, _object(binder, "r", on), bits), BOOLEAN)


def _has_column_privilege(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    user, (on, column, privileges) = _with_user(binder, name, args, 3, position)
    table, coercer = _object(binder, "r", on), binder.context.coercer
    if column.type.is_numeric:
        number = coercer.coerce(column, SMALLINT, Context.ASSIGNMENT)
    else:
        number = Call("attnum_of", (table, coercer.coerce(column, VARCHAR, Context.IMPLICIT)), SMALLINT)
    return Call("has_privilege_on_column", (user, table, _bits(binder, "c", privileges), number), BOOLEAN)


def _has_parameter_privilege(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    user, (parameter, privileges) = _with_user(binder, name, args, 2, position)
    text = binder.context.coercer.coerce(parameter, VARCHAR, Context.IMPLICIT)
    return Call("has_privilege_on_parameter", (user, text, _bits(binder, "parameter", privileges)), BOOLEAN)


def _has_role(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    user, (role, privileges) = _with_user(binder, name, args, 2, position)
    return Call("has_role_bits", (user, _user(binder, role), _bits(binder, "role", privileges)), BOOLEAN)


def _acl_default(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """What an object has of which nobody has granted or revoked anything, by the letter of its kind and its owner."""
    if len(args) != 2:
        raise no_function(name, args, position)
    coercer = binder.context.coercer
    kind, owner = (
        coercer.coerce(arg, type_, Context.EXPLICIT) for arg, type_ in zip(args, (VARCHAR, OID), strict=True)
    )
    return Call("acl_default", (kind, owner), array_of(SYSTEM_TYPES["aclitem"]))


EXPLODED: tuple[tuple[str, str, SqlType], ...] = (
    ("grantor", "acl_grantors", OID),
    ("grantee", "acl_grantees", OID),
    ("privilege_type", "acl_privileges", TEXT),
    ("is_grantable", "acl_grantable", BOOLEAN),
)
"""The columns of aclexplode, and the functions that give them as lists."""


def _with_user(
    binder: ExpressionBinder, name: str, args: list[Operand], count: int, position: int
) -> tuple[Expr, list[Operand]]:
    """Whose rights are asked for, and the `count` other arguments. Raises 42883 if there are too few or many."""
    if len(args) == count:
        role_id = binder.context.session.role_id
        return Literal(BOOTSTRAP_ROLE_ID if role_id is None else role_id, OID), args
    if len(args) != count + 1:
        raise no_function(name, args, position)
    return _user(binder, args[0]), args[1:]


def _user(binder: ExpressionBinder, given: Operand) -> Expr:
    """A role by its name, of which `public` is everybody, or by its oid."""
    if _is_number(given):
        return binder.context.coercer.coerce(given, OID, Context.IMPLICIT)
    if isinstance(given.expr, Literal) and isinstance(given.expr.value, str):
        if given.expr.value == "public":
            return Literal(PUBLIC, OID)
        role = binder.context.catalog.role_named(given.expr.value)
        if role is None:
            raise SqlError(f'role "{given.expr.value}" does not exist', sqlstate="42704")
        return Literal(role.role_id, OID)
    # A name in a column is exactly a role's, and not what SQL would make of it.
    text = binder.context.coercer.coerce(given, VARCHAR, Context.EXPLICIT)
    return Call("role_of", (text,), OID)


def _object(binder: ExpressionBinder, kind: str, given: Operand) -> Expr:
    coercer = binder.context.coercer
    if kind == "sequence":
        return Call("sequence_of", (_object(binder, "r", given),), OID)
    if _is_number(given):
        return coercer.coerce(given, OID, Context.EXPLICIT)
    if kind in _NAMED_BY:
        return coercer.coerce(given, SYSTEM_TYPES[_NAMED_BY[kind]], Context.EXPLICIT)
    name = coercer.coerce(given, VARCHAR, Context.EXPLICIT)
    return (
        Call("database_of", (name,), OID) if kind == "d" else Call("oid_of_named", (Literal(kind, VARCHAR), name), OID)
    )


def _bits(binder: ExpressionBinder, kind: str, given: Operand) -> Expr:
    """The privileges that a text names, as bits. Raises 22023 for what the kind of object does not have."""
    text = binder.context.coercer.coerce(given, VARCHAR, Context.IMPLICIT)
    if not isinstance(text, Literal) or not isinstance(text.value, str):
        return Call("privilege_bits", (Literal(kind, VARCHAR), text), BIGINT)
    bits = 0
    for word in text.value.split(","):
        if word.strip().upper() not in PRIVILEGE_WORDS[kind]:
            raise SqlError(f'unrecognized privilege type: "{word.strip()}"', sqlstate="22023")
        bits |= PRIVILEGE_WORDS[kind][word.strip().upper()]
    return Literal(bits, BIGINT)


def _is_number(given: Operand) -> bool:
    return is_oid(given.type) or given.type.is_numeric


PRIVILEGE_FUNCTIONS: Mapping[str, Callable[[ExpressionBinder, str, list[Operand], int], Expr]] = MappingProxyType(
    {
        **dict.fromkeys(_KINDS, _has_privilege),
        "has_column_privilege": _has_column_privilege,
        "has_any_column_privilege": _has_any_column_privilege,
        "pg_has_role": _has_role,
        "has_parameter_privilege": _has_parameter_privilege,
        "acldefault": _acl_default,
    }
)
