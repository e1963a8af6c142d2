"""CREATE FUNCTION, AGGREGATE and PROCEDURE, and DROP of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from risingpy.errors import FeatureNotSupported, InvalidFunctionDefinition, SqlError
from risingpy.frontend.binder.database_names import check_databases
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.arguments import bound_default
from risingpy.frontend.binder.functions.sql_bodies import body_rows, body_tree, inlined
from risingpy.frontend.binder.functions.user_defined import definition_text
from risingpy.frontend.binder.query.query import QueryBinder
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.typing.domain_names import refuse_domain
from risingpy.frontend.binder.typing.names_of_types import text_with_schemas
from risingpy.frontend.binder.typing.polymorphic import type_of_routine
from risingpy.frontend.binder.typing.type_names import element_name, is_text_name
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CreateFunction, DropFunction, FunctionArgument, ParsedStatement
from risingpy.frontend.parser.parse import parse
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.settings import is_on
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.call import check_body, check_statements
from risingpy.frontend.statements.objects.types_of_functions import check_types
from risingpy.frontend.statements.placing import known_types, new_schema
from risingpy.frontend.statements.rights.checks import check_drops, check_names_schema, check_owns_all, check_uses_types
from risingpy.frontend.statements.rights.server_rights import check_language
from risingpy.functions.python import call_worker
from risingpy.meta.schema.functions import FunctionTarget, create_function, drop, same_functions, targets_of
from risingpy.plan.catalog import FunctionDesc, FunctionKind, FunctionLanguage
from risingpy.plan.expressions import InputRef
from risingpy.statement_limits import working_for
from risingpy.types import VARCHAR, SqlType, narrow, struct_of
from risingpy.types.system_types import is_polymorphic

_MODES = {"IN": "i", "OUT": "o", "INOUT": "b", "VARIADIC": "v"}  # as in pg_proc.proargmodes


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateFunction, parameter_types: Sequence[SqlType]
) -> Command:
    """Checks the body before anything is stored, unless `check_function_bodies` is off. IF NOT EXISTS may notice."""

    def run(parameters: Parameters) -> Result:
        schema = new_schema(session, statement.name)
        check_language(session, statement.language, statement.name.position)
        function = FunctionDesc(
            function_id=0,
            schema_name=schema,
            name=statement.name.name,
            argument_names=tuple(argument.name for argument in statement.arguments),
            argument_types=_types(session, statement.arguments),
            result=_result(session, statement),
            language=FunctionLanguage(statement.language),
            body=statement.body.text,
            definition=_without_names_of_rows(session, parsed.text, statement),
            immutable=statement.immutable,
            strict=statement.strict,
            batch=statement.batch,
            kind=_kind(statement),
            column=statement.results[0].name if len(statement.results) == 1 else "",
            texts=_texts(statement),
            modes="".join(_MODES[each.mode] for each in statement.signature),
            variadic=statement.variadic,
        )
        check_types(function, statement)
        function = _with_defaults(session, function, statement)
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
        return Result(CommandTag(f"CREATE {function.noun.upper()}"))

    return Command(run)


def _without_names_of_rows(session: StatementContext, text: str, statement: CreateFunction) -> str:
    """The text with types such as `struct<a integer>` in place of names of relations, whose rows they are now.

    A function does not follow a relation that changes, so neither may its text. Raises FeatureNotSupported if a name
    does not stand there as it is read.
    """
    known = known_types(session)
    names = {each.type.position: each.type for each in (*statement.arguments, *statement.results)}.values()
    for name in sorted(names, key=lambda each: each.position, reverse=True):
        written = element_name(name.text)
        row = known.row_meant(written)
        if row is None:
            continue
        begin = name.position - 1
        there = re.compile(r"\s*".join(map(re.escape, written.split(" ")))).match(text, begin)  # blanks are normalized
        if there is None:
            message = f"the name of the type {written} is not supported with comments in it"
            raise FeatureNotSupported(message, position=name.position)
        text = f"{text[:begin]}{row}{text[there.end() :]}"
    return text


def _texts(statement: CreateFunction) -> tuple[bool, ...]:
    """Which arguments, and then which columns of the result, are written `text`; a relation's are not."""
    return tuple(is_text_name(each.type.text) for each in (*statement.arguments, *statement.results))


def bind_drop(
    session: StatementContext, parsed: ParsedStatement, statement: DropFunction, parameter_types: Sequence[SqlType]
) -> Command:
    """DROP FUNCTION and its like: all names or none. Without argument types a name must be unique."""

    def run(parameters: Parameters) -> Result:
        targets = [
            FunctionTarget(
                name.schema,
                name.name,
                None if given is None else _types(session, given),
                session.search_path(),
                noun=statement.noun,
            )
            for name, given in statement.functions
        ]
        if_exists, cascade = statement.if_exists, statement.cascade
        for name, _ in statement.functions:
            check_names_schema(session, name.schema, name.position)
        check_drops(session, lambda state: targets_of(state, targets))
        for notice in drop(session.ddl, targets, if_exists=if_exists, cascade=cascade, cancelled=session.cancelled):
            session.notice(notice)
        return Result(CommandTag(f"DROP {statement.noun.upper()}"))

    return Command(run)


def _result(session: StatementContext, statement: CreateFunction) -> SqlType:
    """The result's type; for a table function, that of a row. The name of a relation means that of its rows."""
    if statement.procedure:
        return VARCHAR
    if statement.returns is not None:
        refuse_domain(statement.returns.text, statement.returns.position, known_types(session), "a function's result")
        return type_of_routine(statement.returns.text, statement.returns.position, known_types(session))
    types = _types(session, statement.results)
    return types[0] if len(types) == 1 else struct_of([column.name for column in statement.results], types)


def _kind(statement: CreateFunction) -> FunctionKind:
    if statement.aggregate:
        return FunctionKind.AGGREGATE
    if statement.procedure:
        return FunctionKind.PROCEDURE
    return FunctionKind.TABLE if statement.columns else FunctionKind.SCALAR


def _with_defaults(session: StatementContext, function: FunctionDesc, statement: CreateFunction) -> FunctionDesc:
    """The function with the defaults of its last arguments, each of which has the argument's type."""
    defaults = list[str]()
    context = make_context(session.database.reads.catalog, session.search_path(), (), session.session_values())
    for place, argument in enumerate(statement.arguments):
        if argument.default is None:
            if defaults:
                message = "input parameters after one with a default value must also have defaults"
                raise InvalidFunctionDefinition(message, position=argument.type.position)
            continue
        bound_default(context, argument.default.tree, function, place)
        defaults.append(text_with_schemas(argument.default, context.types))
    return replace(function, argument_defaults=tuple(defaults))


def _types(session: StatementContext, arguments: Sequence[FunctionArgument]) -> tuple[SqlType, ...]:
    known = known_types(session)
    for each in arguments:
        refuse_domain(each.type.text, each.type.position, known, "a function's argument or result")
    return tuple(type_of_routine(each.type.text, each.type.position, known) for each in arguments)


def _checked(session: StatementContext, function: FunctionDesc, statement: CreateFunction) -> FunctionDesc:
    """The function, completed from its body, which is checked. Raises the body's errors, at its position."""
    for given in (function.argument_names, [each.name for each in statement.results]):
        names = [name for name in given if name]
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
        if function.kind is FunctionKind.AGGREGATE:
            raise FeatureNotSupported("an aggregate in SQL is not supported", hint="Say LANGUAGE python.")
        if function.batch:
            raise InvalidFunctionDefinition("only functions in Python take batches")
        check_databases(parse(function.body), function.body, session.database_names())
        if function.kind is FunctionKind.PROCEDURE:
            check_statements(function.body)
        if is_on(session.settings.get("check_function_bodies")):
            _check_body(session, function)
        return function
    except SqlError as error:
        error.position = statement.body.position
        raise


def _check_body(session: StatementContext, function: FunctionDesc) -> None:
    """Binds the body of a function in SQL, as a call would."""
    if any(map(is_polymorphic, function.argument_types)):  # as in PostgreSQL: a call says what they are
        if function.kind is not FunctionKind.PROCEDURE:
            body_tree(function.body)
        return
    if function.kind is FunctionKind.PROCEDURE:
        check_body(session, function)
        return
    context = make_context(session.database.reads.catalog, session.search_path(), (), session.session_values())
    binder = ExpressionBinder(QueryBinder(context).context, Scope(), "a function's body")
    args = [InputRef(number, type_) for number, type_ in enumerate(function.argument_types)]
    if function.kind is FunctionKind.TABLE:
        body_rows(binder, function, args)
    else:
        inlined(binder, function, args)
