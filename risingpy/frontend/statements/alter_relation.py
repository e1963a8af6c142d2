"""ALTER TABLE | VIEW | MATERIALIZED VIEW | SOURCE | SINK | SUBSCRIPTION … RENAME TO, SET SCHEMA, and a view's columns.

Only the catalog changes. Rows, views that read the relation, and their state stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import SqlError, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import (
    CreateIndex,
    CreateMaterializedView,
    CreateSink,
    CreateSource,
    CreateSubscription,
    CreateTable,
    CreateView,
    ObjectName,
    ParsedStatement,
)
from risingpy.frontend.parser.ast_alter import AlterRelation
from risingpy.frontend.parser.tokenize import end_of_name
from risingpy.frontend.renamed_text import reread
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import altered_relation
from risingpy.frontend.statements.objects.view_column import rename_column
from risingpy.frontend.statements.rights.checks import check_creates_in
from risingpy.frontend.table_definition import quoted
from risingpy.meta.schema.alter import NewName
from risingpy.plan.catalog import (
    DEFAULT_SCHEMA,
    CreatedRelation,
    NumberSequence,
    OwningColumn,
    QueryRelation,
    Relation,
    Table,
)
from risingpy.types import SqlType

_NAMED = CreateTable | CreateView | CreateMaterializedView | CreateSource | CreateSink | CreateSubscription


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: AlterRelation, parameter_types: Sequence[SqlType]
) -> Command:
    """Finds the relation when it runs, so a prepared one follows renames. Raises 42809 for another kind of relation."""

    tag = CommandTag(f"ALTER {statement.kind.noun.upper()}")

    def run(parameters: Parameters) -> Result:
        relation = altered_relation(session, statement.name, if_exists=statement.if_exists)
        if relation is not None:
            # As in PostgreSQL, ALTER TABLE renames any kind of relation.
            if statement.kind is not Table and not isinstance(relation, statement.kind):
                message = f'"{relation.name}" is not a {statement.kind.noun}'
                raise WrongObjectType(message, position=statement.name.position)
            if statement.column is not None:
                assert statement.new_name is not None and isinstance(relation, QueryRelation)
                rename_column(session, relation, statement.column, statement.new_name)
                return Result(tag)
            if statement.swapped is not None:
                _swap(session, relation, statement.swapped)
                return Result(tag)
            new_name = None if statement.new_name is None else statement.new_name.name
            new_schema = None if statement.new_schema is None else statement.new_schema.name
            if isinstance(relation, NumberSequence) and relation.owned_by is not None and new_schema is not None:
                _refuse_schema(session, relation, relation.owned_by)
            check_creates_in(session, new_schema or relation.schema_name)
            new_place = relation.relation_id, new_name, new_schema
            session.ddl.rename(NewName(*new_place, renamed_definition, reread), session.cancelled)
        return Result(tag)

    return Command(run)


def _refuse_schema(session: StatementContext, sequence: NumberSequence, owner: OwningColumn) -> None:
    table = session.database.reads.catalog.relations[owner.table_id]
    detail = f'Sequence "{sequence.name}" is linked to table "{table.name}".'
    raise SqlError("cannot move an owned sequence into another schema", sqlstate="0A000", detail=detail)


def _swap(session: StatementContext, relation: Relation, name: ObjectName) -> None:
    """Gives two relations of one kind the names of each other. Who reads them reads the same rows as before."""
    other = altered_relation(session, name, if_exists=False)
    assert other is not None
    if type(other) is not type(relation):
        message = f'cannot swap {relation.noun} "{relation.name}" with {other.noun} "{other.name}"'
        raise WrongObjectType(message, position=name.position)
    if other.relation_id != relation.relation_id:
        change = NewName(relation.relation_id, None, None, renamed_definition, reread)
        session.ddl.swap(other.relation_id, change, session.cancelled)


def renamed_definition(renamed: CreatedRelation) -> str:
    """The relation's CREATE statement with the old name replaced by the new one."""
    if not renamed.definition:  # the server has made it
        return ""
    [parsed] = parse(renamed.definition)
    if isinstance(parsed.statement, CreateIndex):
        return _index_definition(renamed, parsed.statement)
    assert isinstance(parsed.statement, _NAMED)
    start = parsed.statement.name.position - 1
    end = end_of_name(renamed.definition, start)
    schema = "" if renamed.schema_name == DEFAULT_SCHEMA else f"{quoted(renamed.schema_name)}."
    return f"{renamed.definition[:start]}{schema}{quoted(renamed.name)}{renamed.definition[end:]}"


def _index_definition(renamed: CreatedRelation, statement: CreateIndex) -> str:
    start = statement.table.position - 1
    end = end_of_name(renamed.definition, start)
    schema = "" if renamed.schema_name == DEFAULT_SCHEMA else f"{quoted(renamed.schema_name)}."
    # It stands in the schema of its relation.
    text = f"{renamed.definition[:start]}{schema}{quoted(statement.table.name)}{renamed.definition[end:]}"
    if statement.name is None:
        before = text.upper().index("ON", text.upper().index("INDEX"))
        return f"{text[:before]}{quoted(renamed.name)} {text[before:]}"
    start = statement.name.position - 1
    return f"{text[:start]}{quoted(renamed.name)}{text[end_of_name(text, start) :]}"
