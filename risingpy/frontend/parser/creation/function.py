"""CREATE FUNCTION, CREATE AGGREGATE, CREATE PROCEDURE, ALTER and DROP of them, and CALL."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import FeatureNotSupported, InvalidFunctionDefinition, SyntaxError_
from risingpy.frontend.parser.ast import (
    AlterFunction,
    CallProcedure,
    CreateFunction,
    DropFunction,
    FunctionArgument,
    TypeName,
)
from risingpy.frontend.parser.ast_create import outputs_of
from risingpy.frontend.parser.cursor import Cursor

# Types of several words: what begins with one of these is no argument's name.
_TYPE_WORDS = ("DOUBLE", "CHARACTER", "CHAR", "TIMESTAMP", "TIME", "INTERVAL", "NATIONAL", "BIT")
_LANGUAGES = ("sql", "python")


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
    return CreateFunction(
        name,
        arguments,
        returns,
        language,
        *body,
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
    arguments = _without_outputs(cursor, _parse_signature(cursor))
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
        *body,
        immutable=True,
        or_replace=or_replace,
        if_not_exists=if_not_exists,
        aggregate=True,
    )


def parse_create_procedure(cursor: Cursor, *, or_replace: bool) -> CreateFunction:
    """After `CREATE [OR REPLACE] PROCEDURE`: `name(args) LANGUAGE sql AS '…'`."""
    name = cursor.object_name()
    arguments = _without_outputs(cursor, _parse_signature(cursor, with_defaults=True))
    position = cursor.position
    language, body, flags = _parse_definition(cursor)
    if language != "sql":
        cursor.fail_with("a procedure needs LANGUAGE sql", position)
    if flags - {""} or body[2]:
        cursor.fail_with("invalid attribute in procedure definition", position)
    return CreateFunction(name, arguments, None, language, *body, or_replace=or_replace, procedure=True)


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


def _parse_definition(cursor: Cursor) -> tuple[str, tuple[str, int, bool], set[str]]:
    """The language, the body (text, position, whether it is RETURN's), and the flags, in any order."""
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
            position = cursor.position
            body = (cursor.string(), position, False)
        elif cursor.accept("RETURN"):
            expression = cursor.expression()
            body = (expression.text, expression.position, True)
        elif cursor.word == "BEGIN":
            cursor.unsupported("BEGIN ATOMIC", hint="AS $$ … $$ has the same statements.")
        else:
            flags.add(_parse_flag(cursor))
    if body is None:
        cursor.fail_with("no function body specified", position)
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


def _without_outputs(cursor: Cursor, signature: Sequence[FunctionArgument]) -> tuple[FunctionArgument, ...]:
    for each in signature:
        if each.mode != "IN":
            raise FeatureNotSupported(f"an argument of mode {each.mode} is not supported", position=each.type.position)
    return tuple(signature)


def _parse_signature(cursor: Cursor, *, with_defaults: bool = False) -> tuple[FunctionArgument, ...]:
    """`(name type, …)`: the names may be left out. `with_defaults`: `= value` or `DEFAULT value` may follow."""
    cursor.expect("(")
    if cursor.accept(")"):
        return ()
    arguments = cursor.comma_separated(lambda: _parse_argument(cursor, with_defaults=with_defaults))
    cursor.expect(")")
    return arguments


def _parse_argument(cursor: Cursor, *, with_defaults: bool) -> FunctionArgument:
    if cursor.word == "VARIADIC":
        cursor.unsupported("an argument of mode VARIADIC")
    mode = next((word for word in ("INOUT", "OUT", "IN") if cursor.accept(word)), "IN")
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
