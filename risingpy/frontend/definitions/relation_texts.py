"""The statements that make relations, functions, types, secrets and connections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from risingpy.connectors.secret_options import MASK, masked_value
from risingpy.frontend.definitions.dependencies import Described
from risingpy.frontend.definitions.domain_texts import domain_definition, later_constraints
from risingpy.frontend.definitions.step import Chapter, Definition, database_name
from risingpy.frontend.system_catalog.constraints.listed import constraints_of, shown_definition
from risingpy.frontend.system_catalog.index_text import index_definition_text, is_spread
from risingpy.frontend.system_catalog.objects.composites import attributes
from risingpy.frontend.table_definition import makes_sequence, quoted, type_text
from risingpy.frontend.view_texts import qualified_definition
from risingpy.meta.writing.sequence_counters import SequencePosition
from risingpy.plan.catalog import (
    DEFAULT_SCHEMA,
    Catalog,
    CompositeDesc,
    ConnectionDesc,
    DomainDesc,
    ExternalSource,
    ForeignKey,
    FunctionDesc,
    FunctionLanguage,
    Index,
    MaterializedView,
    NumberSequence,
    SecretDesc,
    Sink,
    Subscription,
    Table,
    UserType,
    View,
)
from risingpy.plan.enum_forms import types_in
from risingpy.sql_quoting import quoted_text


class RelationTexts:
    """Of one catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def created(self, found: Described, part: Chapter) -> Iterator[Definition]:
        """The statements that make one object; none where another's statement makes it."""
        catalog = self._catalog.seen_from(found.database_id)
        match found:
            case FunctionDesc():
                yield self._step(part, found, _unchecked(found))
            case NumberSequence():
                if not self._is_made_by_its_table(found):
                    yield self._step(part, found, found.definition)
            case Table():
                yield self._step(part, found, self._without_foreign_keys(found, shown_definition(catalog, found)))
                yield from self._renamed_sequences(found)
            case View() | MaterializedView():
                yield self._step(part, found, qualified_definition(found, catalog))
            case Index():
                indexed = catalog.indexed_by(found)
                if found.index.unique is None or not found.index.unique.is_constraint:
                    yield self._step(part, found, index_definition_text(found, indexed, spread=is_spread(found)))
            case ExternalSource() | Sink() | Subscription():
                yield self._step(part, found, found.definition)
            case _:
                assert_never(found)

    def foreign_keys(self, table: Table) -> Iterator[Definition]:
        """ALTER TABLE … ADD CONSTRAINT for each."""
        for each in constraints_of(self._catalog.seen_from(table.database_id), table):
            if isinstance(each.key, ForeignKey):
                yield self._step(Chapter.VIEWS, table, f"ALTER TABLE {full_name(table)} ADD {each.clause}")

    def position(self, sequence: NumberSequence, position: SequencePosition | None) -> Iterator[Definition]:
        """The setval of a sequence that has given numbers."""
        if position is not None and position.called:
            text = f"SELECT setval({quoted_text(full_name(sequence))}, {position.last})"
            yield self._step(Chapter.VIEWS, sequence, text)

    def user_type(self, found: UserType) -> Definition:
        """CREATE TYPE or CREATE DOMAIN."""
        if isinstance(found, DomainDesc):
            return self._step(Chapter.TABLES, found, domain_definition(found))
        if isinstance(found, CompositeDesc):
            listed = ", ".join(f"{quoted(each.name)} {type_text(each.shown_type)}" for each in attributes(found))
            return self._step(Chapter.TABLES, found, f"CREATE TYPE {full_name(found)} AS ({listed})")
        labels = ", ".join(quoted_text(label.text) for label in found.labels)
        return self._step(Chapter.TABLES, found, f"CREATE TYPE {full_name(found)} AS ENUM ({labels})")

    def later_constraints(self, found: DomainDesc) -> Iterator[Definition]:
        """Those of a domain that do not hold for all rows."""
        for text in later_constraints(found):
            yield self._step(Chapter.VIEWS, found, text)

    def secret(self, found: SecretDesc) -> Definition:
        text = f"CREATE SECRET {full_name(found)} WITH (backend = 'meta') AS {quoted_text(MASK)}"
        return self._step(Chapter.TABLES, found, text)

    def connection(self, found: ConnectionDesc) -> Definition:
        options = [("type", quoted_text(found.type))]
        options += [(name, quoted_text(masked_value(name, value))) for name, value in found.options]
        options += [(each.name, quoted_text(MASK)) for each in found.hidden.sealed]
        for each in found.hidden.secrets:
            options.append((each.name, f"SECRET {full_name(self._catalog.secrets[each.secret_id])}"))
        listed = ", ".join(f"{name} = {value}" for name, value in options)
        return self._step(Chapter.TABLES, found, f"CREATE CONNECTION {full_name(found)} WITH ({listed})")

    def _step(self, part: Chapter, found: Described | UserType | SecretDesc | ConnectionDesc, text: str) -> Definition:
        database = database_name(self._catalog, found.database_id)
        return Definition(part, database, found.noun, full_name(found), text.strip().rstrip(";"), self._path(found))

    def _path(self, found: Described | UserType | SecretDesc | ConnectionDesc) -> tuple[str, ...]:
        """The object's schema first, where a bare name makes it, then those of what it reads and calls."""
        schemas = [found.schema_name]
        for key in (*getattr(found, "depends_on", ()), *getattr(found, "functions", ())):
            needed = self._catalog.relations.get(key) or self._catalog.functions.get(key)
            if needed is not None and needed.database_id == found.database_id:
                schemas.append(needed.schema_name)
        types = (self._catalog.types.get(key) for key in sorted(types_in(found)))  # in the text of a view or function
        schemas += [each.schema_name for each in types if each is not None]
        return tuple(dict.fromkeys([*schemas, DEFAULT_SCHEMA]))

    def _without_foreign_keys(self, table: Table, text: str) -> str:
        for each in constraints_of(self._catalog.seen_from(table.database_id), table):
            if isinstance(each.key, ForeignKey):
                text = text.replace(f", {each.clause}", "", 1)
        return text

    def _is_made_by_its_table(self, sequence: NumberSequence) -> bool:
        owner = sequence.owned_by
        if owner is None:
            return False
        table = self._catalog.relations[owner.table_id]
        return any(
            column.column_id == owner.column_id and makes_sequence(column, sequence, self._catalog.relations)
            for column in table.columns
        )

    def ownership(self, sequence: NumberSequence) -> Iterator[Definition]:
        """ALTER SEQUENCE … OWNED BY of one that belongs to a column that has not made it."""
        owner = sequence.owned_by
        if owner is not None and not self._is_made_by_its_table(sequence):
            table = self._catalog.relations[owner.table_id]
            [column] = [each for each in table.columns if each.column_id == owner.column_id]
            of = f"{full_name(table)}.{quoted(column.name)}"
            yield self._step(Chapter.VIEWS, sequence, f"ALTER SEQUENCE {full_name(sequence)} OWNED BY {of}")

    def _renamed_sequences(self, table: Table) -> Iterator[Definition]:
        """Gives the sequences that the table has made their names."""
        columns = {column.column_id: column for column in table.columns}
        for sequence in self._catalog.relations.values():
            if not isinstance(sequence, NumberSequence) or sequence.owned_by is None:
                continue
            if sequence.owned_by.table_id != table.relation_id or not self._is_made_by_its_table(sequence):
                continue
            made = f"{table.name}_{columns[sequence.owned_by.column_id].name}_seq"
            if made != sequence.name:
                old = f"{quoted(table.schema_name)}.{quoted(made)}"
                yield self._step(Chapter.TABLES, sequence, f"ALTER SEQUENCE {old} RENAME TO {quoted(sequence.name)}")


def full_name(found: Described | UserType | SecretDesc | ConnectionDesc) -> str:
    """`schema.name`, each in quotes if it needs them."""
    return f"{quoted(found.schema_name)}.{quoted(found.name)}"


def _unchecked(function: FunctionDesc) -> str:
    """The function's definition. What a body in SQL reads is perhaps made later, or has another name by now."""
    if function.language is not FunctionLanguage.SQL:
        return function.definition
    text = function.definition.strip().rstrip(";")
    return f"SET check_function_bodies = off; {text}; RESET check_function_bodies"
