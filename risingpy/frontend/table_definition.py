"""A table's CREATE TABLE statement, made of its catalog entry: after ALTER TABLE the original text is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import CreateTable
from risingpy.frontend.parser.keywords import RESERVED
from risingpy.plan.catalog import (
    DEFAULT_SCHEMA,
    ColumnDesc,
    Counting,
    Identity,
    NumberSequence,
    Relation,
    RowRetention,
    Table,
    identity_bounds,
)
from risingpy.plan.operators import ConflictBehavior
from risingpy.sql_quoting import double_quoted, quoted_text
from risingpy.types import SqlType, TypeKind

_ON_CONFLICT = {ConflictBehavior.IGNORE: "DO NOTHING", ConflictBehavior.FILL: "DO UPDATE IF NOT NULL"}
_BY_ID = re.compile(r"'(\d+)'::regclass")
_SERIALS = {TypeKind.SMALLINT: "smallserial", TypeKind.INTEGER: "serial", TypeKind.BIGINT: "bigserial"}
NO_RELATIONS: Mapping[int, Relation] = MappingProxyType({})
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*\Z")


def table_definition(
    relation: Table, clauses: Iterable[str] = (), relations: Mapping[int, Relation] = NO_RELATIONS
) -> str:
    """`CREATE TABLE name (column type …, PRIMARY KEY (…))`, with these clauses of constraints after the key.

    `relations`, by id, has the sequences of its columns.
    """
    included = set() if relation.source is None else {column.column_id for column in relation.source.included}
    shown = [c for c in relation.columns if not c.hidden and c.column_id not in included]
    parts = [column_definition(each, relations) for each in shown]
    if relation.primary_key:
        key = ", ".join(quoted(relation.columns[i].name) for i in relation.primary_key)
        named = "" if relation.key_name is None else f"CONSTRAINT {quoted(relation.key_name)} "
        parts.append(f"{named}PRIMARY KEY ({key})")
    parts.extend(clauses)
    if relation.watermark is not None:
        (name,) = [column.name for column in relation.columns if column.column_id == relation.watermark.column_id]
        parts.append(f"WATERMARK FOR {quoted(name)} AS {relation.watermark.text}{' WITH TTL' * relation.watermark.ttl}")
    schema = "" if relation.schema_name == DEFAULT_SCHEMA else f"{quoted(relation.schema_name)}."
    if relation.source is not None:
        return f"CREATE TABLE {schema}{quoted(relation.name)} ({', '.join(parts)}){_after_columns(relation.definition)}"
    suffix = " APPEND ONLY" if relation.append_only else ""
    if relation.on_conflict is not ConflictBehavior.OVERWRITE:
        suffix += f" ON CONFLICT {_ON_CONFLICT[relation.on_conflict]}"
    if relation.version_columns:
        names = {column.column_id: quoted(column.name) for column in relation.columns}
        suffix += f" WITH VERSION COLUMN ({', '.join(names[each] for each in relation.version_columns)})"
    options = [] if relation.webhook is None else ["connector = 'webhook'"]
    options += ["is_batched = true"] if relation.webhook is not None and relation.webhook.is_batched else []
    options += [] if relation.retention is None else [_end_of_rows(relation.retention)]
    options += [] if relation.times_of_rows is None else ["row_timestamp = true"]
    suffix += f" WITH ({', '.join(options)})" if options else ""
    if relation.webhook is not None and relation.webhook.text is not None:
        suffix += f" VALIDATE AS {relation.webhook.text}"
    return f"CREATE TABLE {schema}{quoted(relation.name)} ({', '.join(parts)}){suffix}"


def _end_of_rows(retention: RowRetention) -> str:
    is_told = retention.ages_table is not None
    return f"ttl = '{retention.seconds} seconds'" if is_told else f"retention_seconds = {retention.seconds}"


def definition_of_columns(schema_name: str, name: str, columns: Iterable[ColumnDesc], key: Sequence[str] = ()) -> str:
    """`CREATE TABLE name (column type …)` of a table that has no more than columns, and perhaps a primary key."""
    schema = "" if schema_name == DEFAULT_SCHEMA else f"{quoted(schema_name)}."
    parts = [column_definition(column) for column in columns]
    if key:
        parts.append(f"PRIMARY KEY ({', '.join(map(quoted, key))})")
    return f"CREATE TABLE {schema}{quoted(name)} ({', '.join(parts)})"


def _after_columns(definition: str) -> str:
    """What a CREATE TABLE statement says after its columns: INCLUDE, WITH and FORMAT of a table that a source feeds."""
    [parsed] = parse(definition)
    assert isinstance(parsed.statement, CreateTable) and parsed.statement.columns_place is not None
    return definition[parsed.statement.columns_place.end - 1 :]


def quoted(name: str) -> str:
    """The name, in quotes if it needs them to be read back unchanged."""
    return name if _PLAIN.match(name) and name not in RESERVED else double_quoted(name)


def _counting(identity: Identity, relations: Mapping[int, Relation]) -> Counting | None:
    """What an identity column counts, or is to count once it has its sequence."""
    sequence = relations.get(identity.sequence)
    return sequence.counting if isinstance(sequence, NumberSequence) else identity.wanted


def _numbering(counting: Counting | None) -> str:
    """The options that are not PostgreSQL's defaults."""
    if counting is None:
        return ""
    least, greatest = identity_bounds(counting.type, counting.increment, None, None)
    start = counting.minimum if counting.increment > 0 else counting.maximum
    given = (
        ("START WITH", counting.start, start),
        ("INCREMENT BY", counting.increment, 1),
        ("MINVALUE", counting.minimum, least),
        ("MAXVALUE", counting.maximum, greatest),
        ("CACHE", counting.cache, 1),
    )
    options = [f"{name} {value}" for name, value, usual in given if value != usual]
    options += ["CYCLE"] if counting.cycles else []
    return f" ({' '.join(options)})" if options else ""


def column_definition(column: ColumnDesc, relations: Mapping[int, Relation] = NO_RELATIONS) -> str:
    """`name type …`, as CREATE TABLE has it. `relations`, by id, has the sequences."""
    serial = _serial_type(column, relations)
    text = f"{quoted(column.name)} {serial or _column_type(column)}"
    if column.generated is not None:
        text += f" GENERATED ALWAYS AS ({column.generated.text}) STORED"
    if column.identity is not None:
        kind = "ALWAYS" if column.identity.always else "BY DEFAULT"
        text += f" GENERATED {kind} AS IDENTITY{_numbering(_counting(column.identity, relations))}"
    if column.default is not None and serial is None:
        text += f" DEFAULT {shown_default(column, relations, lambda each: each.qualified_name)}"
    return text + (" NOT NULL" if column.not_null else " NULL" if column.null_in_key else "")


def _column_type(column: ColumnDesc) -> str:
    domain = column.domain
    if domain is None:
        return type_text(column.shown_type)
    schema = "" if domain.schema_name == DEFAULT_SCHEMA else f"{quoted(domain.schema_name)}."
    return f"{schema}{quoted(domain.name)}{'[]' * domain.dimensions(column.type)}"


def type_text(type_: SqlType) -> str:
    """The type as it is read back, whatever the name that a user has given it."""
    made = type_.leaf.enum or type_.leaf.composite
    if made is None:
        return str(type_)
    schema = "" if made.schema_name == DEFAULT_SCHEMA else f"{quoted(made.schema_name)}."
    return f"{schema}{quoted(made.name)}{'[]' * type_.depth}"


def _serial_type(column: ColumnDesc, relations: Mapping[int, Relation]) -> str | None:
    """`bigserial` and its like, if that is what the column is: it takes the numbers of a sequence of its own."""
    if len(column.sequences) != 1 or column.default != f"nextval('{column.sequences[0]}'::regclass)":
        return None
    sequence = relations.get(column.sequences[0])
    if not isinstance(sequence, NumberSequence) or sequence.owned_by is None:
        return None
    is_own = sequence.owned_by.column_id == column.column_id and not _numbering(sequence.counting)
    return _SERIALS.get(column.type.kind) if is_own and column.not_null else None


def shown_default(column: ColumnDesc, relations: Mapping[int, Relation], name: Callable[[Relation], str]) -> str:
    """The text of a DEFAULT with the names of sequences, which it has by their ids."""

    def named(found: re.Match[str]) -> str:
        sequence = relations.get(int(found[1]))
        return found[0] if sequence is None else f"{quoted_text(name(sequence))}::regclass"

    return _BY_ID.sub(named, column.default or "") if column.sequences else column.default or ""


def makes_sequence(column: ColumnDesc, sequence: NumberSequence, relations: Mapping[int, Relation]) -> bool:
    """Whether the column's definition makes the sequence: it is an identity's, or a serial column's."""
    if column.identity is not None:
        return column.identity.sequence == sequence.relation_id
    return column.sequences == (sequence.relation_id,) and _serial_type(column, relations) is not None
