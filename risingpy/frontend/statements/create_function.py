"""CREATE FUNCTION, CREATE AGGREGATE, and DROP of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.errors import FeatureNotSupported, InvalidFunctionDefinition, SqlError
from risingpy.frontend.binder.database_names import check_databases
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.user_defined import definition_text, inlined
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.typing.type_names import resolve_type
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CreateFunction, DropFunction, FunctionArgument, ParsedStatement
from risingpy.frontend.parser.parse import parse
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.placing import new_schema
from risingpy.frontend.statements.rights.checks import check_drops, check_names_schema, check_owns_all, check_uses_types
from risingpy.frontend.statements.rights.server_rights import check_language
from risingpy.functions.python import call_worker
from risingpy.meta.schema.functions import FunctionTarget, create_function, drop, same_functions, targets_of
from risingpy.plan.catalog import FunctionDesc, FunctionKind, FunctionLanguage
from risingpy.plan.expressions import InputRef
from risingpy.statement_limits import working_for
from risingpy.types import SqlType, narrow, struct_of


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateFunction, parameter_types: Sequence[SqlType]
) -> Command:
    """Checks the body before anything is stored. IF NOT EXISTS gives a notice (42723)."""

    def run(parameters: Parameters) -> Result:
        schema = new_schema(session, statement.name)
        check_language(session, statement.language, statement.name.position)
        function = FunctionDesc(
            function_id=0,
            schema_name=schema,
            name=statement.name.name,
            argument_names=tuple(argument.name for argument in statement.arguments),
            argument_types=_types(statement.arguments),
            result=_result(statement),
            language=FunctionLanguage(statement.language),
            body=f"SELECT {statement.body}" if statement.returns_expression else statement.body,
            definition=parsed.text,
            immutable=statement.immutable,
            strict=statement.strict,
            batch=statement.batch,
            kind=_kind(statement),
            column=statement.columns[0].name if len(statement.columns) == 1 else "",
        )
        check_uses_types(session, (*function.argument_types, function.result))
        function = _checked(session, function, statement)
        if statement.or_replace:
            check_owns_all(session, lambda state: same_functions(state, function))
        made = create_function(
            session.ddl,
            function,
            or_replace=statement.or_replace,
            if_not_exists=statement.if_not_exists,
            cancelled=session.cancelled,
        )
        if not made:
            session.notice(f'function "{function.name}" already exists, skipping', sqlstate="42723")
        return Result(CommandTag("CREATE AGGREGATE" if statement.aggregate else "CREATE FUNCTION"))

    return Command(run)


def bind_drop(
    session: StatementContext, parsed: ParsedStatement, statement: DropFunction, parameter_types: Sequence[SqlType]
) -> Command:
    """DROP FUNCTION and DROP AGGREGATE: all names or none. Without argument types a name must be unique."""

    def run(parameters: Parameters) -> Result:
        targets = [
            FunctionTarget(
                name.schema,
                name.name,
                None if given is None else _types(given),
                session.search_path(),
                aggregate=statement.aggregate,
            )
            for name, given in statement.functions
        ]
        if_exists, cascade = statement.if_exists, statement.cascade
        for name, _ in statement.functions:
            check_names_schema(session, name.schema, name.position)
        check_drops(session, lambda state: targets_of(state, targets))
        for notice in drop(session.ddl, targets, if_exists=if_exists, cascade=cascade, cancelled=session.cancelled):
            session.notice(notice)
        return Result(CommandTag("DROP AGGREGATE" if statement.aggregate else "DROP FUNCTION"))

    return Command(run)


def _result(statement: CreateFunction) -> SqlType:
    """The result's type; for a table function, that of a row."""
    if statement.returns is not None:
        return resolve_type(statement.returns.text, statement.returns.position)
    types = _types(statement.columns)
    return types[0] if len(types) == 1 else struct_of([column.name for column in statement.columns], types)


def _kind(statement: CreateFunction) -> FunctionKind:
    if statement.aggregate:
        return FunctionKind.AGGREGATE
    return FunctionKind.TABLE if statement.columns else FunctionKind.SCALAR


def _types(arguments: Sequence[FunctionArgument]) -> tuple[SqlType, ...]:
    return tuple(resolve_type(argument.type.text, argument.type.position) for argument in arguments)


def _checked(session: StatementContext, function: FunctionDesc, statement: CreateFunction) -> FunctionDesc:
    """The function, completed from its body, which is checked. Raises the body's errors, at its position."""
    names = [name for name in function.argument_names if name] + [c.name for c in statement.columns if c.name]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        message = f'parameter name "{repeated}" used more than once'
        raise InvalidFunctionDefinition(message, position=statement.name.position)
    try:
        if function.language is FunctionLanguage.PYTHON:
            if function.batch:  # Arrow has no type for wide numerics
                types = tuple(map(narrow, function.argument_types))
                function = replace(function, argument_types=types, result=narrow(function.result))
            with working_for(session.limits()):
                answer, _ = call_worker("check", definition_text(function))
            return replace(function, retracts=bool(answer["retracts"]))
        if function.kind is not FunctionKind.SCALAR:
            raise FeatureNotSupported(f"a {function.kind.value} in SQL is not supported", hint="Say LANGUAGE python.")
        if function.batch:
            raise InvalidFunctionDefinition("only functions in Python take batches")
        check_databases(parse(function.body), function.body, session.database_names())
        context = make_context(session.database.reads.catalog, session.search_path(), (), session.session_values())
        args = [InputRef(number, type_) for number, type_ in enumerate(function.argument_types)]
        inlined(ExpressionBinder(context, Scope(), "a function's body"), function, args)
        return function
    except SqlError as error:
        error.position = statement.body_position
        raise
