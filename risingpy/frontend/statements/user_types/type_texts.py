"""The texts that name a type or a label, after ALTER TYPE: defaults, constraints, indexes, views.

Plans know a type by its id and a value by its number: they stay. What is shown, dumped or bound anew gets the new name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.frontend.binder import bind_default
from risingpy.frontend.binder.typing.names_of_types import Edit, edited, full_type_name, type_edits
from risingpy.frontend.binder.typing.type_names import KnownTypes
from risingpy.frontend.deparse.same_meaning import same_meaning
from risingpy.frontend.deparse.sight import bound_query_of, schemas_of_types
from risingpy.frontend.parser import parse, parse_query
from risingpy.frontend.parser.ast import CreateMaterializedView, CreateSink, CreateView, Query
from risingpy.frontend.parser.cursor import STRINGS
from risingpy.frontend.parser.parse import parse_expression
from risingpy.frontend.parser.tokenize import tokenize
from risingpy.frontend.table_definition import table_definition
from risingpy.meta.schema.alter import RelationReader
from risingpy.meta.schema.objects.dropped_types import defaults_of, is_named_by_view, names_type
from risingpy.meta.schema.objects.user_types import Texts
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import (
    Catalog,
    CheckConstraint,
    ColumnDesc,
    CreatedRelation,
    DomainDesc,
    EnumDesc,
    Index,
    MaterializedView,
    Sink,
    Table,
    UserType,
    View,
)
from risingpy.plan.enum_forms import enums_in, parts_of, types_in, with_form
from risingpy.plan.expressions import Literal
from risingpy.sql_quoting import quoted_text
from risingpy.types.enums.enum_type import EnumType

LOG = logging.getLogger(__name__)
Rewrite = Callable[[str, object], str]
"""The new text of an expression; what it is bound to says which words mean what."""
Default = Callable[[ColumnDesc, str], str]
"""The new text of a column's DEFAULT."""


def with_type_names(before: MetaState, after: MetaState) -> MetaState:
    """The state `after` a type has got another name or schema, with the new name in its texts."""
    changed = _changed_type(before, after)

    def rewrite(text: str, bound: object) -> str:
        return edited(text, _type_edits(text, before.catalog, changed, parse_expression(text).tree, ()))

    def of_query(text: str, reader: RelationReader) -> list[Edit]:
        path = schemas_of_types(before.catalog)
        edits = _type_edits(text, before.catalog, changed, parse_query(text).tree, path)
        try:
            bound_query_of(reader, parse_query(edited(text, edits)), after.catalog)
        except SqlError as error:  # a struct<…> has the type in it
            raise FeatureNotSupported(
                f'{reader.noun} "{reader.name}" names the type in a way that cannot follow its new name',
                detail=error.message,
                hint="Drop it, alter the type, and create it again.",
            ) from None
        return edits

    return _with_texts(before, after, rewrite, lambda column, text: rewrite(text, ()), of_query)


def with_label_texts(old: str, new: str) -> Texts:
    """The same after a label has got another text."""

    def texts(before: MetaState, after: MetaState) -> MetaState:
        changed, was = _changed_enum(before, after), _changed_enum(after, before)
        number = next(label.number for label in changed.labels if label.text == new)

        def rewrite(text: str, bound: object) -> str:
            edits = _label_edits(text, old, new)
            count = sum(_is_value(each, changed.type_id, number) for each in parts_of(bound))
            if count not in (0, len(edits)):
                message = f'the expression ({text}) has the value "{old}" in a way that cannot follow its new name'
                raise FeatureNotSupported(message, hint="Drop it, rename the value, and create it again.")
            return edited(text, edits) if count else text

        def default(column: ColumnDesc, text: str) -> str:
            as_it_was = with_form(column, was.enum)
            meant = with_form(bind_default(as_it_was, before.catalog), changed.enum)
            for tried in (text, edited(text, _label_edits(text, old, new))):
                try:
                    if bind_default(replace(column, default=tried), after.catalog) == meant:
                        return tried
                except SqlError:
                    continue
            message = f'the default of column "{column.name}" has the value "{old}" in a way that cannot follow'
            raise FeatureNotSupported(message, hint="Drop the default, rename the value, and set the default again.")

        def of_query(text: str, reader: RelationReader) -> list[Edit]:
            return _label_edits_of_query(text, reader, before.catalog, after.catalog, changed.enum, old, new)

        return _with_texts(before, after, rewrite, default, of_query)

    return texts


def _changed_type(before: MetaState, after: MetaState) -> UserType:
    """The type with another name, schema or label; a domain over it has its new form, too."""
    found = ((before.catalog.types.get(key), each) for key, each in after.catalog.types.items())
    return next(now for was, now in found if was is not None and _own_form(was) != _own_form(now))


def _own_form(found: UserType) -> tuple[object, ...]:
    return found.schema_name, found.name, found.labels if isinstance(found, EnumDesc) else ()


def _changed_enum(before: MetaState, after: MetaState) -> EnumDesc:
    found = _changed_type(before, after)
    assert isinstance(found, EnumDesc)
    return found


def _type_edits(text: str, catalog: Catalog, changed: UserType, tree: object, path: tuple[str, ...]) -> list[Edit]:
    def written(named: UserType) -> str | None:
        return full_type_name(changed) if named.type_id == changed.type_id else None

    return type_edits(text, tree, KnownTypes(catalog, path), written)  # type: ignore[arg-type]


def _label_edits(text: str, old: str, new: str) -> list[Edit]:
    tokens = (token for token in tokenize(text) if token.token_type in STRINGS and token.text == old)
    return [(token.start, token.end + 1, quoted_text(new)) for token in tokens]


def _label_edits_of_query(
    text: str, reader: RelationReader, before: Catalog, after: Catalog, form: EnumType, old: str, new: str
) -> list[Edit]:
    """The edits, if the text means the same with them. Raises FeatureNotSupported if it means the same in no form."""
    edits = _label_edits(text, old, new)
    try:
        meant = with_form(bound_query_of(reader, parse_query(text), before).plan, form)
    except SqlError as error:
        LOG.warning('%s "%s" keeps a text that cannot be bound: %s', reader.noun, reader.name, error)
        return []
    for tried in ([], edits):
        try:
            again = bound_query_of(reader, parse_query(edited(text, tried)), after).plan
        except SqlError:
            continue
        if same_meaning(meant, again):
            return tried
    raise FeatureNotSupported(
        f'{reader.noun} "{reader.name}" has "{old}" as a text, too, and cannot follow the new name of the value',
        hint="Drop the view, rename the value, and create the view again.",
    )


def _is_value(part: object, type_id: int, number: int) -> bool:
    """Whether a part of an expression is the value with this number, or an array that has it."""
    if not isinstance(part, Literal):
        return False
    value = part.value
    return type_id in enums_in(part.type) and (value == number or (isinstance(value, tuple) and number in value))


# -- what has texts -----------------------------------------------------------------------------------------------


def _with_texts(
    before: MetaState,
    state: MetaState,
    rewrite: Rewrite,
    default: Default,
    of_query: Callable[[str, RelationReader], list[Edit]],
) -> MetaState:
    relations = dict(state.catalog.relations)
    old = before.catalog.types[_changed_type(before, state).type_id]
    named = {table.relation_id for table, _ in defaults_of(before, old)}
    for key, relation in state.catalog.relations.items():
        job = state.jobs.get(key) or state.stopped.get(key)
        by_text = key in named or is_named_by_view(relation, old)
        if not by_text and old.type_id not in types_in((relation, job)):
            continue
        match relation:
            case Table():
                relations[key] = _table(relation, rewrite, default, relations)
            case Index():
                relations[key] = _index(relation, rewrite)
            case View() | MaterializedView() | Sink():
                relations[key] = _reader(relation, of_query)
    types = {
        key: _domain(each, rewrite, default) if isinstance(each, DomainDesc) and names_type(each, old) else each
        for key, each in state.catalog.types.items()
    }
    return replace(state, catalog=replace(state.catalog, relations=relations, types=types))


def _domain(domain: DomainDesc, rewrite: Rewrite, default: Default) -> DomainDesc:
    checks = tuple(replace(each, text=rewrite(each.text, each.expression)) for each in domain.checks)
    if domain.default is None:
        return replace(domain, checks=checks)
    as_column = ColumnDesc(0, domain.name, domain.base, default=domain.default)
    return replace(domain, checks=checks, default=default(as_column, domain.default))


def _table(table: Table, rewrite: Rewrite, default: Default, relations: Mapping[int, CreatedRelation]) -> Table:
    columns = tuple(_column(column, rewrite, default) for column in table.columns)
    constraints = tuple(
        replace(each, text=rewrite(each.text, each.expression)) if isinstance(each, CheckConstraint) else each
        for each in table.constraints
    )
    table = replace(table, columns=columns, constraints=constraints)
    return replace(table, definition=table_definition(table, (), relations)) if table.definition else table


def _column(column: ColumnDesc, rewrite: Rewrite, default: Default) -> ColumnDesc:
    if column.generated is not None:
        generated = replace(column.generated, text=rewrite(column.generated.text, column.generated.expression))
        column = replace(column, generated=generated)
    return column if column.default is None else replace(column, default=default(column, column.default))


def _index(index: Index, rewrite: Rewrite) -> Index:
    definition, keys = index.definition, []
    for key in index.index.keys:
        text = rewrite(key.text, key.expression)
        definition = definition.replace(key.text, text, 1) if text != key.text else definition
        keys.append(replace(key, text=text))
    predicate = index.index.predicate
    if predicate is not None:
        text = rewrite(predicate.text, predicate.expression)
        definition = definition.replace(predicate.text, text, 1) if text != predicate.text else definition
        predicate = replace(predicate, text=text)
    return replace(index, definition=definition, index=replace(index.index, keys=tuple(keys), predicate=predicate))


def _reader(reader: RelationReader, of_query: Callable[[str, RelationReader], list[Edit]]) -> RelationReader:
    if not reader.definition:
        return reader
    [parsed] = parse(reader.definition)
    statement = parsed.statement
    assert isinstance(statement, CreateView | CreateMaterializedView | CreateSink)
    query: Query | None = statement.query
    if query is None:
        return reader
    offset = query.position - 1
    edits = of_query(query.text, reader)
    definition = edited(reader.definition, [(begin + offset, end + offset, new) for begin, end, new in edits])
    if isinstance(reader, View | MaterializedView):
        return replace(reader, query=edited(query.text, edits), definition=definition)
    return replace(reader, definition=definition)
