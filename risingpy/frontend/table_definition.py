"""A table's CREATE TABLE statement, made of its catalog entry: after ALTER TABLE the original text is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable

from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import CreateTable
from risingpy.frontend.parser.keywords import RESERVED
from risingpy.plan.catalog import DEFAULT_SCHEMA, ColumnDesc, Identity, Table
from risingpy.plan.operators import ConflictBehavior
from risingpy.sql_quoting import double_quoted

_ON_CONFLICT = {ConflictBehavior.IGNORE: "DO NOTHING", ConflictBehavior.FILL: "DO UPDATE IF NOT NULL"}
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*\Z")


def table_definition(relation: Table, clauses: Iterable[str] = ()) -> str:
    """`CREATE TABLE name (column type …, PRIMARY KEY (…))`, with these clauses of constraints after the key."""
    included = set() if relation.source is None else {column.column_id for column in relation.source.included}
    parts = [column_definition(c) for c in relation.columns if not c.hidden and c.column_id not in included]
    if relation.primary_key:
        key = ", ".join(quoted(relation.columns[i].name) for i in relation.primary_key)
        named = "" if relation.key_name is None else f"CONSTRAINT {quoted(relation.key_name)} "
        parts.append(f"{named}PRIMARY KEY ({key})")
    parts.extend(clauses)
    if relation.watermark is not None:
        (name,) = [column.name for column in relation.columns if column.column_id == relation.watermark.column_id]
        parts.append(f"WATERMARK FOR {quoted(name)} AS {relation.watermark.text}")
    schema = "" if relation.schema_name == DEFAULT_SCHEMA else f"{quoted(relation.schema_name)}."
    if relation.source is not None:
        return f"CREATE TABLE {schema}{quoted(relation.name)} ({', '.join(parts)}){_after_columns(relation.definition)}"
    suffix = " APPEND ONLY" if relation.append_only else ""
    if relation.on_conflict is not ConflictBehavior.OVERWRITE:
        suffix += f" ON CONFLICT {_ON_CONFLICT[relation.on_conflict]}"
    version = [column.name for column in relation.columns if column.column_id == relation.version_column]
    if version:
        suffix += f" WITH VERSION COLUMN ({quoted(version[0])})"
    if relation.webhook is not None:
        batched = ", is_batched = true" if relation.webhook.is_batched else ""
        suffix += f" WITH (connector = 'webhook'{batched})"
        if relation.webhook.text is not None:
            suffix += f" VALIDATE AS {relation.webhook.text}"
    return f"CREATE TABLE {schema}{quoted(relation.name)} ({', '.join(parts)}){suffix}"


def definition_of_columns(schema_name: str, name: str, columns: Iterable[ColumnDesc]) -> str:
    """`CREATE TABLE name (column type …)` of a table that has no more than columns."""
    schema = "" if schema_name == DEFAULT_SCHEMA else f"{quoted(schema_name)}."
    return f"CREATE TABLE {schema}{quoted(name)} ({', '.join(map(column_definition, columns))})"


def _after_columns(definition: str) -> str:
    """What a CREATE TABLE statement says after its columns: INCLUDE, WITH and FORMAT of a table that a source feeds."""
    [parsed] = parse(definition)
    assert isinstance(parsed.statement, CreateTable) and parsed.statement.columns_place is not None
    return definition[parsed.statement.columns_place.end - 1 :]


def quoted(name: str) -> str:
    """The name, in quotes if it needs them to be read back unchanged."""
    return name if _PLAIN.match(name) and name not in RESERVED else double_quoted(name)


def _numbering(identity: Identity) -> str:
    """The options that are not PostgreSQL's defaults."""
    given = (
        ("START WITH", identity.start if identity.start != (1 if identity.increment > 0 else -1) else None),
        ("INCREMENT BY", identity.increment if identity.increment != 1 else None),
        ("MINVALUE", identity.minimum),
        ("MAXVALUE", identity.maximum),
    )
    options = " ".join(f"{name} {value}" for name, value in given if value is not None)
    return f" ({options})" if options else ""


def column_definition(column: ColumnDesc) -> str:
    """`name type …`, as CREATE TABLE has it."""
    text = f"{quoted(column.name)} {column.type}"
    if column.generated is not None:
        text += f" GENERATED ALWAYS AS ({column.generated.text}) STORED"
    if column.identity is not None:
        kind = "ALWAYS" if column.identity.always else "BY DEFAULT"
        text += f" GENERATED {kind} AS IDENTITY{_numbering(column.identity)}"
    if column.default is not None:
        text += f" DEFAULT {column.default}"
    return text + (" NOT NULL" if column.not_null else "")
