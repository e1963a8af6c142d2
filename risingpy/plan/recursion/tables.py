"""The shapes of a recursion's state tables: spread as its rows are, those of WITH MUTUALLY RECURSIVE on one shard."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.plan.logical import Field
from risingpy.plan.state_tables import internal_table
from risingpy.storage.codec.table_schema import KeyColumn, TableSchema
from risingpy.types import BIGINT


def derivations_table(
    table_id: int, job: str, identity: Sequence[Field], carried: Sequence[Field], spread: tuple[int, ...] = ()
) -> TableSchema:
    """`identity | level → carried, count`: how often rows are derived. Their shard is told by `spread`."""
    columns = [(field.name, field.type) for field in identity]
    columns += [("level", BIGINT), *((field.name, field.type) for field in carried), ("derivations", BIGINT)]
    key = tuple(KeyColumn(i) for i in range(len(identity) + 1))
    return internal_table(table_id, f"{job}_derivations_{table_id}", columns, key, spread, read_prefix=len(identity))


def moments_table(
    table_id: int, job: str, identity: Sequence[Field], carried: Sequence[Field], grouped: int
) -> TableSchema:
    """`group | level | rest of the identity → carried, weight`: the differences of groups of rows."""
    fields = (*identity[:grouped], Field("level", BIGINT), *identity[grouped:], *carried, Field("weight", BIGINT))
    key = tuple(KeyColumn(i) for i in range(len(identity) + 1))
    columns = [(field.name, field.type) for field in fields]
    return internal_table(table_id, f"{job}_moments_{table_id}", columns, key, (), read_prefix=grouped)


def members_table(
    table_id: int, job: str, identity: Sequence[Field], carried: Sequence[Field], spread: tuple[int, ...] = ()
) -> TableSchema:
    """`identity → level, carried`: the least level of each row of a recursion."""
    columns = [(field.name, field.type) for field in (*identity, Field("level", BIGINT), *carried)]
    key = tuple(KeyColumn(i) for i in range(len(identity)))
    return internal_table(table_id, f"{job}_members_{table_id}", columns, key, spread)
