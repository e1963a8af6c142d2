"""The state tables in which a table WITH TTL, or with retention_seconds or ttl, and a view with ttl find what ends."""

from __future__ import annotations

from risingpy.plan.properties import ColumnIndex, Properties
from risingpy.plan.state_tables import internal_table
from risingpy.storage.codec.table_schema import KeyColumn, TableSchema
from risingpy.types import BIGINT


def expiry_table(table_id: int, relation: TableSchema, column: ColumnIndex) -> TableSchema:
    """`column | rest of the relation's key → ()`: in which order the rows of a table with WITH TTL end."""
    key = list(dict.fromkeys((column, *(each.index for each in relation.key))))
    columns = [(relation.columns[i].name, relation.columns[i].type) for i in key]
    positions = tuple(key.index(i) for i in relation.distribution)
    keys = tuple(KeyColumn(i) for i in range(len(key)))
    return internal_table(table_id, f"{relation.name}_expiry_{table_id}", columns, keys, positions)


def retention_table(table_id: int, relation: TableSchema) -> TableSchema:
    """`time of the epoch, in milliseconds | the relation's key → ()`: rows in the order in which they have come."""
    key = [each.index for each in relation.key]
    columns = [("written_at", BIGINT), *((relation.columns[i].name, relation.columns[i].type) for i in key)]
    positions = tuple(1 + key.index(i) for i in relation.distribution)
    keys = tuple(KeyColumn(i) for i in range(len(columns)))
    return internal_table(table_id, f"{relation.name}_retention_{table_id}", columns, keys, positions)


def rows_by_key(table_id: int, job: str, input: Properties) -> TableSchema:
    """`stream key → the other columns`: rows of `input`, spread as they are. A float of a key is in the value, too."""
    columns = [(field.name, field.type) for field in input.schema]
    key, distribution = tuple(KeyColumn(i) for i in input.stream_key), input.distribution.columns
    floats = [i for i in input.stream_key if columns[i][1].is_float]
    return internal_table(table_id, f"{job}_ttl_{table_id}", columns, key, distribution, also_in_value=floats)


def ages_table(table_id: int, relation: TableSchema) -> TableSchema:
    """`the relation's key → time of the epoch, in milliseconds`: when rows that change have come."""
    key = [each.index for each in relation.key]
    columns = [*((relation.columns[i].name, relation.columns[i].type) for i in key), ("written_at", BIGINT)]
    positions = tuple(key.index(i) for i in relation.distribution)
    keys = tuple(KeyColumn(i) for i in range(len(key)))
    return internal_table(table_id, f"{relation.name}_ages_{table_id}", columns, keys, positions)
