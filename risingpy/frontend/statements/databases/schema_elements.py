"""CREATE SCHEMA … CREATE TABLE … CREATE VIEW … GRANT …: what is made in a schema by the statement that makes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from risingpy.errors import InvalidTableDefinition, SqlError, SyntaxError_
from risingpy.frontend.parser.ast import (
    CreateIndex,
    CreateSchema,
    CreateSequence,
    CreateTable,
    CreateView,
    GrantPrivileges,
    InnerStatement,
    ObjectName,
    ParsedStatement,
)
from risingpy.frontend.parser.roles.trees import RoleName
from risingpy.frontend.parser.tokenize import tokenize
from risingpy.frontend.session_identity import ROLE
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.prepare import inner_statements
from risingpy.frontend.statements.rights.roles import role_of
from risingpy.sql_quoting import double_quoted

# As in PostgreSQL, in this order, however they are written: a view may come before its table.
_ORDER = (CreateSequence, CreateTable, CreateView, CreateIndex, GrantPrivileges)


def elements_of(session: StatementContext, statement: CreateSchema) -> Sequence[ParsedStatement]:
    """The statements inside, in the order in which they run. Raises SyntaxError_ for others than PostgreSQL's."""
    parsed = [_element(session, each) for each in statement.elements]
    return [each for kind in _ORDER for each in parsed if isinstance(each.statement, kind)]


def make_elements(
    session: StatementContext, schema: str, owner: RoleName | None, elements: Sequence[ParsedStatement]
) -> None:
    """Runs the statements as the schema's owner, who finds the schema first in the search path.

    Raises 42P15 for an object of another schema.
    """
    if not elements:
        return
    with _inside(session, schema, owner):
        for element in elements:
            name = _placed(element)
            if name is not None and name.schema not in (None, schema):
                message = f"CREATE specifies a schema ({name.schema}) different from the one being created ({schema})"
                raise SqlError(message, sqlstate="42P15")
            session.bind(element, ()).run(())


@contextmanager
def _inside(session: StatementContext, schema: str, owner: RoleName | None) -> Iterator[None]:
    go_back = session.settings.mark()
    try:
        path = session.settings.get("search_path")
        session.settings.set("search_path", (double_quoted(schema), path), local=True)
        if owner is not None:
            role = role_of(session, session.database.reads.state, owner)
            session.settings.set(ROLE, (role.name,), local=True)
        yield
    finally:
        go_back()


def _placed(element: ParsedStatement) -> ObjectName | None:
    """The name of what the statement makes, or of the relation in whose schema it makes it."""
    match element.statement:
        case CreateSequence() | CreateTable() | CreateView():
            return element.statement.name
        case CreateIndex():
            return element.statement.table
    return None


def _element(session: StatementContext, inner: InnerStatement) -> ParsedStatement:
    [parsed] = inner_statements(session, inner)
    assert isinstance(parsed, ParsedStatement)
    statement = parsed.statement
    if not isinstance(statement, _ORDER):
        raise _unexpected(inner)
    if isinstance(statement, CreateSequence | CreateTable | CreateView) and statement.temporary:
        message = "cannot create temporary relation in non-temporary schema"
        raise InvalidTableDefinition(message, position=statement.name.position)
    return parsed


def _unexpected(inner: InnerStatement) -> SyntaxError_:
    """At the AS of CREATE TABLE AS, else at the word that says what is to be made."""
    tokens = tokenize(inner.text)
    words = [token.text.upper() for token in tokens]
    token = tokens[words.index("AS") if words[1] == "TABLE" and "AS" in words else 1]
    shown = inner.text[token.start : token.end + 1]
    return SyntaxError_(f'syntax error at or near "{shown}"', position=inner.position + token.start)
