"""CALL of a procedure in SQL: its statements, one after the other, in one transaction.

A statement's `$1` is the first argument, and so is its name where the statement reads no column of that name. So a
statement is bound as one with parameters, and its plan does not depend on what a call gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, InsufficientPrivilege, SqlError, StatementTooComplex, SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.arguments import bound_arguments
from risingpy.frontend.binder.functions.table_functions import users_schema
from risingpy.frontend.binder.functions.user_defined import chosen_function
from risingpy.frontend.binder.query.query import QueryBinder
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.trees import name_of, position_of
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CallProcedure, Delete, Insert, Merge, ParsedStatement, Select, Update
from risingpy.frontend.parser.parse import parse
from risingpy.frontend.parser.reading_statements import name_of as name_of_statement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.prepare import values_of
from risingpy.frontend.statements.transactions.one_transaction import in_transaction
from risingpy.plan.catalog import FunctionDesc, FunctionKind
from risingpy.types import SqlType

_STATEMENTS = (Select, Insert, Update, Delete, Merge, CallProcedure)
_MOST_NESTED = 16  # procedures that call each other: each level is some forty frames of Python's stack


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CallProcedure, parameter_types: Sequence[SqlType]
) -> Command:
    """Raises UndefinedFunction, and 42809 for a function. The rows of the body's queries are nobody's."""
    call = statement.call.tree
    if isinstance(call, exp.Dot):
        call = call.expression
    if not isinstance(call, exp.Anonymous):
        raise SyntaxError_("CALL needs the name of a procedure and its arguments", position=statement.call.position)
    catalog, values = session.database.reads.catalog, session.session_values()
    of_queries = QueryBinder(make_context(catalog, session.search_path(), parameter_types, values)).context
    context = replace(of_queries, subqueries=None)  # as in PostgreSQL, but for those in bodies of functions
    binder = ExpressionBinder(context, Scope(), "CALL argument")
    position, name = position_of(call), name_of(call.this)
    arguments = bound_arguments(binder, call.expressions)
    procedure, exprs = chosen_function(binder, users_schema(call), name, arguments, position, noun="procedure")
    if procedure.kind is not FunctionKind.PROCEDURE:
        hint = "To call a function, use SELECT."
        raise SqlError(f"{procedure.shown} is not a procedure", sqlstate="42809", hint=hint, position=position)
    context.check_uses()

    def run(parameters: Parameters) -> Result:
        given = values_of(session, exprs, parameters)
        if len(session.procedures) >= _MOST_NESTED:
            raise StatementTooComplex("stack depth limit exceeded", hint="Procedures call each other too deeply.")
        with in_transaction(session):
            for part in statements_of(procedure.body):
                with _within(session, procedure):
                    result = _bound(session, procedure, part).run(given)
                    for _ in result.batches or ():
                        session.check()
        return Result(CommandTag("CALL"))

    return Command(run, parameter_types=context.parameters.types(), lasts=False)


def check_body(session: StatementContext, procedure: FunctionDesc) -> None:
    """Binds the statements of a procedure that is to be made. Whoever calls it needs the rights, not who makes it."""
    for part in statements_of(procedure.body):
        try:
            with _within(session, procedure):
                _bound(session, procedure, part)
        except InsufficientPrivilege:
            continue


def check_statements(body: str) -> None:
    """Raises FeatureNotSupported for a statement that a procedure cannot have."""
    for part in statements_of(body):
        if not isinstance(part.statement, _STATEMENTS):
            message = f"{name_of_statement(part)} in a procedure is not supported"
            raise FeatureNotSupported(message, hint="It has queries, INSERT, UPDATE, DELETE, MERGE and CALL.")


def statements_of(body: str) -> Sequence[ParsedStatement]:
    """The statements of a procedure's body."""
    return [part for part in parse(body) if isinstance(part, ParsedStatement)]


def _bound(session: StatementContext, procedure: FunctionDesc, part: ParsedStatement) -> Command:
    return session.bind(part, [type_.oid for type_ in procedure.argument_types])


@contextmanager
def _within(session: StatementContext, procedure: FunctionDesc) -> Iterator[None]:
    """While a statement of the body is bound and runs. Its errors name the procedure, for want of a position."""
    before = session.procedures
    session.procedures = (*before, procedure)
    try:
        yield
    except SqlError as error:
        error.position = None
        error.where = error.where or f'SQL function "{procedure.name}"'
        raise
    finally:
        session.procedures = before
