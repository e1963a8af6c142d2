"""LIKE in CREATE TABLE: the columns of another relation, and what INCLUDING takes over of it.

CREATE TABLE t (a INT, LIKE s INCLUDING DEFAULTS)   =>   CREATE TABLE t (a INT, b INT NOT NULL DEFAULT 5)

Nothing ties the new table to the other one afterwards. As in PostgreSQL, foreign keys are not taken over, and keys and
indexes get names of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from risingpy.errors import InvalidTableDefinition, WrongObjectType
from risingpy.frontend.binder.query.relations import find_relation
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import ColumnDefinition, ColumnName, CreateIndex, CreateTable
from risingpy.frontend.parser.ast_constraints import (
    CheckDefinition,
    ConstraintDefinition,
    KeyDefinition,
    UniqueDefinition,
)
from risingpy.frontend.parser.ast_create import LikeClause, LikeOption
from risingpy.frontend.parser.ast_parts import Expression, SequenceOptions, TypeName
from risingpy.frontend.parser.parse import parse_expression
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements import create_index
from risingpy.frontend.statements.rights.checks import check_allowed
from risingpy.frontend.system_catalog.index_text import index_definition_text, index_key_numbers
from risingpy.frontend.system_catalog.oids import index_oid, relation_oid
from risingpy.frontend.table_definition import shown_default
from risingpy.meta.schema.objects.comments import CommentedObject, with_comment
from risingpy.meta.schema.relations import DropTarget
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import (
    Catalog,
    CheckConstraint,
    ColumnDesc,
    CommentedKind,
    ExternalSource,
    Index,
    MaterializedView,
    NumberSequence,
    Relation,
    Table,
    View,
)
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.catalog.comments import ids_of_column

_MODELS = (Table, View, MaterializedView, ExternalSource)


def with_likes(session: StatementContext, statement: CreateTable) -> CreateTable:
    """The statement with columns and constraints in the place of LIKE.

    Raises UndefinedTable, WrongObjectType, InsufficientPrivilege, and InvalidTableDefinition for a second primary key.
    """
    columns, shift = list(statement.columns), 0
    constraints: list[ConstraintDefinition] = []
    for like in statement.likes:
        model, catalog = _model(session, like), session.database.reads.catalog
        place = like.place + shift
        taken = [_column(catalog, like, column) for column in _visible(model)]
        columns[place:place] = taken
        shift += len(taken)
        constraints.extend(_constraints(catalog, like, model))
    keys = [each for each in constraints if isinstance(each, KeyDefinition)]
    own = statement.primary_key is not None or any(column.primary_key for column in statement.columns)
    if len(keys) + own > 1:
        message = f'multiple primary keys for table "{statement.name.name}" are not allowed'
        raise InvalidTableDefinition(message, position=statement.name.position)
    others = tuple(each for each in constraints if not isinstance(each, KeyDefinition))
    return replace(
        statement,
        columns=tuple(columns),
        constraints=(*others, *statement.constraints),
        primary_key=keys[0].columns if keys else statement.primary_key,
    )


def complete_likes(session: StatementContext, statement: CreateTable, schema: str) -> None:
    """The table is there: makes the indexes and the comments that LIKE takes over. A failure drops the table."""
    wanted = {LikeOption.INDEXES, LikeOption.COMMENTS}
    for like in statement.likes:
        if not like.including & wanted:
            continue
        try:
            _complete(session, statement, like, schema)
        except BaseException:
            target = DropTarget(Table, schema, statement.name.name, ())
            session.ddl.drop([target], if_exists=True, cascade=True)
            raise


def _complete(session: StatementContext, statement: CreateTable, like: LikeClause, schema: str) -> None:
    model = _model(session, like)
    if LikeOption.INDEXES in like.including:
        for index in _indexes(session.database.reads.catalog, model):
            if index.index.unique is None or not index.index.unique.is_constraint:
                _create_index(session, index, model, schema, statement.name.name)
    if LikeOption.COMMENTS in like.including:
        session.ddl.change(
            lambda state: _with_comments(state, like, model, _made(state.catalog, schema, statement.name.name)),
            session.cancelled,
        )


def _create_index(session: StatementContext, index: Index, model: Relation, schema: str, table: str) -> None:
    assert isinstance(model, Table | MaterializedView)
    [parsed] = parse(index_definition_text(index, replace(model, schema_name=schema, name=table)))
    assert isinstance(parsed.statement, CreateIndex)
    create_index.bind(session, parsed, replace(parsed.statement, name=None), ()).run(())


def _made(catalog: Catalog, schema: str, name: str) -> Table:
    made = catalog.find(name, schema, ())
    assert isinstance(made, Table)
    return made


def _model(session: StatementContext, like: LikeClause) -> Relation:
    named, catalog = like.table, session.database.reads.catalog
    context = make_context(catalog, session.search_path(), (), session.session_values())
    found = find_relation(context, named.name, named.schema, named.position, named.database)
    if not isinstance(found, _MODELS):
        plural = "indexes" if isinstance(found, Index) else f"{found.noun}s"
        detail = f"This operation is not supported for {plural}."
        message = f'relation "{found.name}" is invalid in LIKE clause'
        raise WrongObjectType(message, detail=detail, position=named.position)
    check_allowed(session, found, Privilege.SELECT)
    return found


def _visible(model: Relation) -> list[ColumnDesc]:
    return [column for column in model.columns if not column.hidden]


def _column(catalog: Catalog, like: LikeClause, column: ColumnDesc) -> ColumnDefinition:
    position = like.table.position
    taken = ColumnDefinition(
        column.name,
        TypeName(str(column.shown_type), position, column.type, column.domain),
        position,
        not_null=column.not_null,
        says_null=column.null_in_key and LikeOption.INDEXES in like.including,
    )
    if column.generated is not None:
        is_taken = LikeOption.GENERATED in like.including
        return replace(taken, generated=_expression(column.generated.text, position)) if is_taken else taken
    if column.identity is not None:
        if LikeOption.IDENTITY not in like.including:
            return taken
        kind: Literal["ALWAYS", "BY DEFAULT"] = "ALWAYS" if column.identity.always else "BY DEFAULT"
        options = _numbering(catalog.relations.get(column.identity.sequence), position)
        return replace(taken, identity=kind, numbering=options)
    if column.default is not None and LikeOption.DEFAULTS in like.including:
        text = shown_default(column, catalog.relations, lambda each: each.qualified_name)
        return replace(taken, default=_expression(text, position))
    return taken


def _expression(text: str, position: int) -> Expression:
    return replace(parse_expression(text), position=position)


def _numbering(sequence: Relation | None, position: int) -> SequenceOptions:
    if not isinstance(sequence, NumberSequence):
        return SequenceOptions(position=position)
    counting = sequence.counting
    given = (
        *(("START", counting.start), ("INCREMENT", counting.increment), ("MINVALUE", counting.minimum)),
        *(("MAXVALUE", counting.maximum), ("CACHE", counting.cache), ("CYCLE", counting.cycles)),
    )
    return SequenceOptions(given, position)


def _constraints(catalog: Catalog, like: LikeClause, model: Relation) -> Iterator[ConstraintDefinition]:
    if not isinstance(model, Table):
        return
    position = like.table.position
    if LikeOption.CONSTRAINTS in like.including:
        for each in model.constraints:
            if isinstance(each, CheckConstraint):
                name = ColumnName(each.name, position)
                yield CheckDefinition(name, _expression(each.text, position), position)
    if LikeOption.INDEXES not in like.including:
        return
    if model.primary_key:
        names = [model.columns[place].name for place in model.primary_key]
        yield KeyDefinition(None, tuple(ColumnName(name, position) for name in names), position)
    for index in catalog.unique_indexes_of(model.relation_id):
        rule = index.index.unique
        if rule is not None and rule.is_constraint:
            names = [model.columns[number - 1].name for number in index_key_numbers(index, model)]
            columns = tuple(ColumnName(name, position) for name in names)
            said = (rule.nulls_distinct, rule.deferrable, rule.deferred, rule.is_primary)
            yield UniqueDefinition(None, columns, position, *said)


def _indexes(catalog: Catalog, model: Relation) -> list[Index]:
    """The indexes of a relation in the order in which they were made."""
    found = (each for each in catalog.relations.values() if isinstance(each, Index))
    own = (each for each in found if each.index.relation_id == model.relation_id)
    return sorted(own, key=lambda each: each.relation_id)


def _with_comments(state: MetaState, like: LikeClause, model: Relation, made: Table) -> MetaState:
    """`state` with the comments on what was taken over: columns, CHECK constraints, indexes."""
    catalog, places = state.catalog, {column.name: column.column_id for column in made.columns}
    pairs: dict[tuple[CommentedKind, int, int], CommentedObject] = {}
    for column in _visible(model):
        on = CommentedObject(CommentedKind.RELATION, relation_oid(made), places[column.name])
        pairs |= {(on.kind, relation_oid(model), key): on for key in ids_of_column(column)}
    if LikeOption.CONSTRAINTS in like.including and isinstance(model, Table):
        ids = {each.name: each.constraint_id for each in made.constraints}
        for each in model.constraints:
            if isinstance(each, CheckConstraint) and each.name in ids:
                on = CommentedObject(CommentedKind.CONSTRAINT, ids[each.name])
                pairs[on.kind, each.constraint_id, 0] = on
    if LikeOption.INDEXES in like.including:
        pairs[CommentedKind.RELATION, index_oid(model), 0] = CommentedObject(CommentedKind.RELATION, index_oid(made))
        own = _indexes(catalog, made)
        for index in _indexes(catalog, model):
            twin = next((each for each in own if _same_keys(each, made) == _same_keys(index, model)), None)
            if twin is not None:
                own.remove(twin)
                on = CommentedObject(CommentedKind.RELATION, relation_oid(twin))
                pairs[on.kind, relation_oid(index), 0] = on
    for comment in list(catalog.comments.values()):
        found = pairs.get((comment.kind, comment.object_id, comment.part))
        if found is not None:
            state = with_comment(state, found, comment.text)
    return state


def _same_keys(index: Index, indexed: Relation) -> str:
    """What an index says but for the names of itself and of what it is on."""
    assert isinstance(indexed, Table | MaterializedView)
    unnamed = replace(index, name="i")
    return index_definition_text(unnamed, replace(indexed, schema_name="s", name="t"))
