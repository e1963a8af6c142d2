"""What a function may take and give: the rules for VARIADIC arguments, polymorphic types and record."""

from __future__ import annotations

from risingpy.errors import FeatureNotSupported, InvalidFunctionDefinition
from risingpy.frontend.binder.typing.polymorphic import check_result
from risingpy.frontend.parser.ast import CreateFunction, FunctionArgument
from risingpy.plan.catalog import FunctionDesc, FunctionKind, FunctionLanguage
from risingpy.types import SqlType, TypeKind
from risingpy.types.system_types import RECORD, is_polymorphic


def check_types(function: FunctionDesc, statement: CreateFunction) -> None:
    """Raises 42P13 as PostgreSQL does, and FeatureNotSupported for what no function here takes or gives."""
    in_python = function.language is FunctionLanguage.PYTHON
    for argument, type_ in zip(statement.arguments, function.argument_types, strict=True):
        _check_argument(argument, type_, in_python=in_python)
    if function.kind is not FunctionKind.PROCEDURE:
        result = function.result
        check_result(function.argument_types, result.items if result.kind is TypeKind.STRUCT else (result,))
        if RECORD in result.items or (result == RECORD and (in_python or function.column)):
            message = "a record as the result of a function in Python, or among its columns, is not supported"
            raise FeatureNotSupported(message, hint="Say RETURNS TABLE (…), or RETURNS struct<…>.")
    if any(map(is_polymorphic, function.argument_types)) and statement.body.unquoted:
        message = "SQL function with unquoted function body cannot have polymorphic arguments"
        raise InvalidFunctionDefinition(message, position=statement.body.position)


def _check_argument(argument: FunctionArgument, type_: SqlType, *, in_python: bool) -> None:
    position = argument.type.position
    if type_ == RECORD:
        language = "Python" if in_python else "SQL"
        raise InvalidFunctionDefinition(f"{language} functions cannot have arguments of type record", position=position)
    if is_polymorphic(type_) and in_python:
        message = f"an argument of {type_} of a function in Python is not supported"
        raise FeatureNotSupported(message, position=position)
    of_any = type_.system in ("anyarray", "anycompatiblearray")
    if argument.mode == "VARIADIC" and type_.kind is not TypeKind.ARRAY and not of_any:
        raise InvalidFunctionDefinition("VARIADIC parameter must be an array", position=position)
