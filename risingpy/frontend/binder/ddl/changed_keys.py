"""ALTER COLUMN … TYPE under keys: the indexes and constraints that read the column, over its new form.

    CREATE INDEX i ON t (lower(a)), a varchar, ALTER COLUMN a TYPE int
        =>  lower((a)::text), bound over t(a int): the index is made anew

The text is what the expression means with the old types, so that casts that were implicit are there. PostgreSQL does
the same after all changes of types (`ATPostAlterTypeCleanup`): a constraint may read two columns that change at once,
and its text need not fit while only one of them has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from risingpy.errors import SqlError
from risingpy.frontend.binder.ddl.constraints import OWN_TABLE, check_expression, incompatible_types
from risingpy.frontend.binder.ddl.index import bind_index
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import CreateIndex
from risingpy.frontend.parser.parse import parse_expression
from risingpy.frontend.system_catalog.index_text import index_definition_text, is_spread
from risingpy.optimizer.stream.index import key_column_ids
from risingpy.plan.catalog import (
    Catalog,
    CheckConstraint,
    ColumnDesc,
    ForeignKey,
    Index,
    IndexDefinition,
    IndexKey,
    IndexPredicate,
    Table,
)
from risingpy.plan.expressions import InputRef
from risingpy.plan.key_types import refuse_no_key
from risingpy.types import BOOLEAN, SqlType

PrintedText: TypeAlias = Callable[[str, SqlType | None], str | None]
"""An expression over the stored table, assigned to a type if one is given, as PostgreSQL prints it; None: no form."""


@dataclass(frozen=True, slots=True)
class RemadeIndex:
    """An index of the table that is made anew: what it was, what it becomes, and the text that shows it."""

    index: Index
    definition: IndexDefinition
    text: str


@dataclass(slots=True)
class ChangedKeys:
    """What changes of types make of a table's keys. `ids` maps the ids of changed columns to their new ones."""

    context: BindContext
    catalog: Catalog
    search_path: tuple[str, ...]
    printed: PrintedText
    ids: dict[int, int] = field(default_factory=dict)

    def reads(self, column_ids: frozenset[int]) -> bool:
        """Whether any of the columns changes."""
        return not self.ids.keys().isdisjoint(column_ids)

    def with_constraints(self, table: Table, check: Callable[[Table, CheckConstraint | ForeignKey], None]) -> Table:
        """The table with its constraints over the new columns. Those that hold for its rows are checked.

        Raises SqlError if the text of a CHECK has no meaning for the new types, 42804 if a foreign key has none.
        """
        changed: dict[str, CheckConstraint | ForeignKey] = {}
        for each in table.constraints:
            if isinstance(each, CheckConstraint) and self.reads(each.column_ids):
                changed[each.name] = self._bound_check(table, each)
            elif isinstance(each, ForeignKey):
                own = replace(each, columns=self._now(each.columns), set_columns=self._now(each.set_columns))
                if each.table_id in (OWN_TABLE, table.relation_id):
                    own = replace(own, referenced=self._now(each.referenced))
                if own != each:
                    changed[each.name] = own
        table = replace(table, constraints=tuple(changed.get(each.name, each) for each in table.constraints))
        for constraint in changed.values():
            if isinstance(constraint, ForeignKey):
                target = self._target(table, constraint)
                _refuse_incompatible(table, constraint, target)
            if constraint.validated:
                check(table, constraint)
        return table

    def references(self, table: Table) -> list[tuple[Table, ForeignKey]]:
        """The foreign keys of other tables to columns that change, as they are to be. Raises 42804 as above."""
        found = []
        for child, key in self.catalog.foreign_keys_to(table.relation_id):
            if child.relation_id != table.relation_id and self.reads(frozenset(key.referenced)):
                after = replace(key, referenced=self._now(key.referenced))
                _refuse_incompatible(child, after, table)
                found.append((child, after))
        return found

    def indexes(self, table: Table, dropped: list[int]) -> list[RemadeIndex]:
        """The indexes that are ordered by a changed column, or whose predicate reads one, over the new columns."""
        there = (each for each in self.catalog.indexes_of(table.relation_id) if each.relation_id not in dropped)
        return [self._index(table, each) for each in there if self.reads(key_column_ids(each.index))]

    def _now(self, column_ids: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.ids.get(column_id, column_id) for column_id in column_ids)

    def _target(self, table: Table, key: ForeignKey) -> Table:
        target = table if key.table_id in (OWN_TABLE, table.relation_id) else self.catalog.relations[key.table_id]
        assert isinstance(target, Table)
        return target

    def _bound_check(self, table: Table, check: CheckConstraint) -> CheckConstraint:
        text = self.printed(check.text, BOOLEAN) or check.text
        with _without_position():
            expression = check_expression(self.context, table.name, table.columns, parse_expression(text))
        return replace(check, text=text, expression=expression)

    def _index(self, table: Table, index: Index) -> RemadeIndex:
        definition = self._definition(table, index)
        refuse_no_key((key.expression.type for key in definition.keys), f'index "{index.name}"')
        made = replace(index, index=definition)
        return RemadeIndex(index, definition, index_definition_text(made, table, spread=is_spread(index)))

    def _definition(self, table: Table, index: Index) -> IndexDefinition:
        """The index's definition over the new columns; of a constraint's only the columns change."""
        was, columns = index.index, {column.column_id: column for column in table.columns}
        include = was.include
        if include is not None:
            include = tuple(column_id for column_id in self._now(include) if column_id in columns)
        keys = [_of_column(each, self.ids, columns) for each in was.keys]
        plain = tuple(each for each in keys if each is not None)
        if len(plain) == len(keys) and was.predicate is None and was.nearest is None:
            return replace(was, keys=plain, include=include)
        # The text is that of the table whose columns have their old ids: the definition names them so.
        old = {now: before for before, now in self.ids.items()}
        named = replace(
            table, columns=tuple(replace(c, column_id=old.get(c.column_id, c.column_id)) for c in table.columns)
        )
        shown = replace(index, index=replace(was, include=None))
        [parsed] = parse(index_definition_text(shown, named, printed=self._part, spread=is_spread(index)))
        assert isinstance(parsed.statement, CreateIndex)
        catalog = replace(self.catalog, relations={**self.catalog.relations, table.relation_id: table})
        with _without_position():
            bound = bind_index(parsed.statement, catalog, self.search_path, session=self.context.session)
        return replace(bound.definition, include=include, unique=was.unique)

    def _part(self, part: IndexKey | IndexPredicate) -> str:
        wanted = BOOLEAN if isinstance(part, IndexPredicate) else None
        text = self.printed(part.text, wanted) or part.text
        return f"({text})" if isinstance(part, IndexPredicate) else text


def _of_column(key: IndexKey, ids: Mapping[int, int], columns: Mapping[int, ColumnDesc]) -> IndexKey | None:
    """The key over the new columns, if it is a column itself."""
    if not isinstance(key.expression, InputRef):
        return None
    column = columns[ids.get(key.expression.index, key.expression.index)]
    return replace(key, expression=InputRef(column.column_id, column.type))


def _refuse_incompatible(table: Table, key: ForeignKey, target: Table) -> None:
    own = {column.column_id: column for column in table.columns}
    theirs = {column.column_id: column for column in target.columns}
    pairs = [(own[one], theirs[other]) for one, other in zip(key.columns, key.referenced, strict=True)]
    error = incompatible_types(key.name, pairs)
    if error is not None:
        raise error


@contextmanager
def _without_position() -> Iterator[None]:
    """An error's position would count characters of a stored text, not of the statement's."""
    try:
        yield
    except SqlError as error:
        error.position = None
        raise
