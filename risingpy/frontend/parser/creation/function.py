"""CREATE FUNCTION, CREATE AGGREGATE, CREATE PROCEDURE, ALTER and DROP of them, and CALL."""

from __future__ import annotations

import re
from collections.abc import Sequence

from risingpy.errors import FeatureNotSupported, InvalidFunctionDefinition, SyntaxError_
from risingpy.frontend.parser.ast import (
    AlterFunction,
    CallProcedure,
    CreateFunction,
    DropFunction,
    Expression,
    FunctionArgument,
    TypeName,
)
from risingpy.frontend.parser.ast_create import outputs_of
from risingpy.frontend.parser.ast_parts import FunctionBody
from risingpy.frontend.parser.cursor import Cursor

# Types of several words: what begins with one of these is no argument's name.
_TYPE_WORDS = ("DOUBLE", "CHARACTER", "CHAR", "TIMESTAMP", "TIME", "INTERVAL", "NATIONAL", "BIT")
_LANGUAGES = ("sql", "python")
_RETURN = re.compile(r"return\b", re.IGNORECASE)


def parse_create_function(cursor: Cursor, *, or_replace: bool) -> CreateFunction:
    """After `CREATE [OR REPLACE] FUNCTION`."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.object_name()
    signature = _parse_signature(cursor, with_defaults=True)
    arguments = tuple(each for each in signature if each.mode != "OUT")
    returns: TypeName | None = None
    columns: tuple[FunctionArgument, ...] = ()
    outputs = outputs_of(signature)
    if outputs:
        columns = outputs if _returns_sets(cursor, outputs) else ()
    else:
        cursor.expect("RETURNS")
        if cursor.accept("TABLE"):
            columns = cursor.in_parentheses(lambda: FunctionArgument(cursor.name().name, cursor.type_name()))
        elif cursor.accept("SETOF"):
            columns = (FunctionArgument("", cursor.type_name()),)
        else:
            returns = cursor.type_name()
    position = cursor.position
    language, body, flags = _parse_definition(cursor)
    if outputs and language != "sql":
        message = "OUT arguments of a function in Python are not supported"
        raise FeatureNotSupported(message, position=position, hint="Say RETURNS TABLE (…), or RETURNS struct<…>.")
    if language != "sql":
        _refuse_modes(arguments, "IN")
    return CreateFunction(
        name,
        arguments,
        returns,
        language,
        body,
        immutable="immutable" in flags,
        strict="strict" in flags,
        batch="batch" in flags,
        or_replace=or_replace,
        if_not_exists=if_not_exists,
        columns=columns,
        signature=signature if outputs else (),
    )


def _returns_sets(cursor: Cursor, outputs: Sequence[FunctionArgument]) -> bool:
    """Takes the RETURNS of a function with OUT arguments, if there is one: only SETOF says something new."""
    position = cursor.position
    if not cursor.accept("RETURNS"):
        return False
    if cursor.word == "TABLE":
        message = "OUT and INOUT arguments aren't allowed in TABLE functions"
        raise SyntaxError_(message, position=position)
    is_set = cursor.accept("SETOF")
    wanted = outputs[0].type.text if len(outputs) == 1 else "record"
    declared = cursor.type_name()
    if declared.text.lower() != wanted.lower():
        message = f"function result type must be {wanted} because of OUT parameters"
        raise InvalidFunctionDefinition(message, position=declared.position)
    return is_set


def parse_create_aggregate(cursor: Cursor, *, or_replace: bool) -> CreateFunction:
    """After `CREATE [OR REPLACE] AGGREGATE`: `name(args) RETURNS type LANGUAGE python AS '…'`."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.object_name()
    arguments = _refuse_modes(_parse_signature(cursor), "IN")
    if not arguments:
        cursor.unsupported("an aggregate without arguments")
    cursor.expect("RETURNS")
    if cursor.word in ("TABLE", "SETOF"):
        cursor.unsupported(f"an aggregate that RETURNS {cursor.word}")
    returns = cursor.type_name()
    position = cursor.position
    language, body, flags = _parse_definition(cursor)
    if language != "python":
        cursor.fail_with("an aggregate needs LANGUAGE python", position)
    for flag in flags & {"strict", "batch"}:
        cursor.fail_with(f"an aggregate cannot be {flag}", position)
    return CreateFunction(
        name,
        arguments,
        returns,
        language,
        body,
        immutable=True,
        or_replace=or_replace,
        if_not_exists=if_not_exists,
        aggregate=True,
    )


def parse_create_procedure(cursor: Cursor, *, or_replace: bool) -> CreateFunction:
    """After `CREATE [OR REPLACE] PROCEDURE`: `name(args) LANGUAGE sql AS '…'`."""
    name = cursor.object_name()
    arguments = _refuse_modes(_parse_signature(cursor, with_defaults=True), "IN", "VARIADIC")
    position = cursor.position
    language, body, flags = _parse_definition(cursor)
    if language != "sql":
        cursor.fail_with("a procedure needs LANGUAGE sql", position)
    if flags - {""} or body.added:  # by RETURN
        cursor.fail_with("invalid attribute in procedure definition", position)
    return CreateFunction(name, arguments, None, language, body, or_replace=or_replace, procedure=True)


def parse_alter_function(cursor: Cursor, noun: str) -> AlterFunction:
    """After `ALTER FUNCTION` and the like: RENAME TO and SET SCHEMA."""
    name = cursor.object_name()
    arguments = parse_arguments(cursor) if cursor.word == "(" else None
    if cursor.accept("RENAME", "TO"):
        return AlterFunction(noun, name, arguments, new_name=cursor.name())
    if cursor.accept("SET", "SCHEMA"):
        return AlterFunction(noun, name, arguments, new_schema=cursor.name())
    return cursor.unsupported(f"ALTER {noun.upper()} … {cursor.word}")


def parse_call(cursor: Cursor) -> CallProcedure:
    """`CALL name(arguments)`."""
    cursor.expect("CALL")
    return CallProcedure(cursor.expression())


def _one_body(before: FunctionBody | None, body: FunctionBody, position: int) -> FunctionBody:
    """Raises 42P13 for the second body of one function."""
    if before is None:
        return body
    if before.unquoted or body.unquoted:
        raise InvalidFunctionDefinition("duplicate function body specified", position=position)
    raise SyntaxError_("conflicting or redundant options", position=position)


def _returned(expression: Expression) -> FunctionBody:
    """After RETURN."""
    select = "SELECT "
    return FunctionBody(f"{select}{expression.text}", expression.position, True, len(select))


def _atomic_body(cursor: Cursor) -> FunctionBody:
    """After BEGIN ATOMIC: the statements, of which RETURN is as a SELECT."""
    inner = cursor.until_end()
    returned = _RETURN.match(inner.text)
    text = inner.text if returned is None else f"SELECT{inner.text[returned.end() :]}"
    return FunctionBody(text, inner.position, True)


def _parse_definition(cursor: Cursor) -> tuple[str, FunctionBody, set[str]]:
    """The language, the body and the flags, in any order."""
    language, body = "sql", None
    position = cursor.position
    flags: set[str] = set()
    while not cursor.at_end:
        position = cursor.position
        if cursor.accept("LANGUAGE"):
            language = cursor.any_word().lower()
            if language not in _LANGUAGES:
                cursor.unsupported(f"LANGUAGE {language}")
        elif cursor.accept("AS"):
            begin = cursor.position
            body = _one_body(body, FunctionBody(cursor.string(), begin), position)
        elif cursor.accept("RETURN"):
            expression = cursor.expression()
            body = _one_body(body, _returned(expression), position)
        elif cursor.accept("BEGIN"):
            cursor.expect("ATOMIC")
            body = _one_body(body, _atomic_body(cursor), position)
            break  # nothing may follow it
        else:
            flags.add(_parse_flag(cursor))
    if body is None:
        cursor.fail_with("no function body specified", position)
    if body.unquoted and language != "sql":
        raise InvalidFunctionDefinition("inline SQL function body only valid for language SQL", position=body.position)
    return language, body, flags


def parse_drop_function(cursor: Cursor, noun: str) -> DropFunction:
    """After `DROP FUNCTION`, `DROP AGGREGATE`, `DROP PROCEDURE` or `DROP ROUTINE`; `noun` is the word."""
    if_exists = cursor.accept("IF", "EXISTS")
    functions = cursor.comma_separated(
        lambda: (cursor.object_name(), parse_arguments(cursor) if cursor.word == "(" else None)
    )
    cascade = cursor.accept("CASCADE")
    if not cascade:
        cursor.accept("RESTRICT")
    return DropFunction(functions, if_exists, cascade, noun)


def parse_arguments(cursor: Cursor) -> tuple[FunctionArgument, ...]:
    """The arguments by which a function is known: all but the OUT ones."""
    return tuple(each for each in _parse_signature(cursor) if each.mode != "OUT")


def _refuse_modes(signature: Sequence[FunctionArgument], *allowed: str) -> tuple[FunctionArgument, ...]:
    for each in signature:
        if each.mode not in allowed:
            raise FeatureNotSupported(f"an argument of mode {each.mode} is not supported", position=each.type.position)
    return tuple(signature)


def _parse_signature(cursor: Cursor, *, with_defaults: bool = False) -> tuple[FunctionArgument, ...]:
    """`(name type, …)`: the names may be left out. `with_defaults`: `= value` or `DEFAULT value` may follow."""
    cursor.expect("(")
    if cursor.accept(")"):
        return ()
    arguments = cursor.comma_separated(lambda: _parse_argument(cursor, with_defaults=with_defaults))
    cursor.expect(")")
    modes = [each.mode for each in arguments]
    if "VARIADIC" in modes and {*modes[modes.index("VARIADIC") + 1 :]} - {"OUT"}:
        position = arguments[modes.index("VARIADIC")].type.position
        raise InvalidFunctionDefinition("VARIADIC parameter must be the last input parameter", position=position)
    return arguments


def _parse_argument(cursor: Cursor, *, with_defaults: bool) -> FunctionArgument:
    mode = next((word for word in ("INOUT", "OUT", "IN", "VARIADIC") if cursor.accept(word)), "IN")
    if mode == "IN" and cursor.accept("OUT"):
        mode = "INOUT"
    first, second = (*cursor.peek(2), "")[:2]
    has_name = second not in (",", ")", "(", "[", "", "=", ":=", "DEFAULT") and first not in _TYPE_WORDS
    name = cursor.name().name if has_name else ""
    type_name: TypeName = cursor.type_name()
    default = None
    if with_defaults and (cursor.accept("DEFAULT") or cursor.accept("=") or cursor.accept(":=")):
        default = cursor.expression()
    return FunctionArgument(name, type_name, default, mode)


def _parse_flag(cursor: Cursor) -> str:
    for words, flag in (
        (("IMMUTABLE",), "immutable"),
        (("STABLE",), ""),
        (("VOLATILE",), ""),
        (("STRICT",), "strict"),
        (("RETURNS", "NULL", "ON", "NULL", "INPUT"), "strict"),
        (("CALLED", "ON", "NULL", "INPUT"), ""),
        (("LEAKPROOF",), ""),
    ):
        if cursor.accept(*words):
            return flag
    if cursor.accept("PARALLEL"):
        cursor.one_of("SAFE", "UNSAFE", "RESTRICTED")
        return ""
    if cursor.accept("COST") or cursor.accept("ROWS"):
        cursor.value()
        return ""
    if cursor.accept("WITH"):
        cursor.expect("(", "BATCH")
        cursor.accept("=")
        on = cursor.one_of("TRUE", "FALSE")
        cursor.expect(")")
        return "batch" if on == "TRUE" else ""
    return cursor.fail()
