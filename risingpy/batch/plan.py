"""A batch plan: how a query is answered, as data. `planner.py` makes it when a statement is prepared.

    SELECT a FROM t WHERE id = $1   =>   Direct(PointGet(t, key [$1]), outputs [$0])
    SELECT count(*) FROM t, u       =>   ComputedRows, inputs: TableScan(t), TableScan(u)

A plan holds for one catalog. Parameters stay parameters in it: to run it is to put their values into the keys, and to
read.
"""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.plan.catalog import ExternalSource, StoredRelation, Table
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import LogicalPlan, SystemScan


@dataclass(frozen=True, slots=True)
class TableScan:
    """Every row of a relation, in no order: the columns at these positions of the relation.

    A source has no rows to read: `reads.py` refuses it when the query runs, so EXPLAIN still shows the plan.
    """

    relation: StoredRelation | ExternalSource
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PointGet:
    """The row with a whole key, if it is there.

    `key` has an expression per column of the storage key, in its order: a constant in the form in which it is stored,
    or one that is a constant as soon as parameters have values (`keys.is_key_expression`).
    """

    relation: StoredRelation
    key: tuple[Expr, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PrefixScan:
    """The rows whose key begins with these values, at least one; else as PointGet. The relation may be an index."""

    relation: StoredRelation
    key: tuple[Expr, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FoundByIndex:
    """Rows of a table, all columns, for a transaction that has changed it.

    An index has what is committed only. So it says which rows may count, by their keys. The committed rows of the keys
    that the transaction has changed come besides, as an Overlay needs them; a row that is both comes twice.
    """

    relation: Table
    index: PointGet | PrefixScan


@dataclass(frozen=True, slots=True)
class Overlay:
    """Rows of a table as they are after what the transaction has written to it, which is not committed yet.

    `rows` are all columns of the committed rows: all of them, or at least those of the keys that matter. Changes of
    other keys come too, which the filter above drops.
    """

    table: Table
    rows: TableScan | PointGet | PrefixScan | FoundByIndex
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SystemRows:
    """The rows of a system relation, which are made when the query runs: nothing stores them."""

    scan: SystemScan


Input = TableScan | PointGet | PrefixScan | Overlay | SystemRows
"""Where a scan of the query gets its rows (`reads.py` reads them)."""


@dataclass(frozen=True, slots=True)
class ConstantRows:
    """Rows of constants and parameters, a tuple of expressions per column."""

    columns: tuple[tuple[Expr, ...], ...]


@dataclass(frozen=True, slots=True)
class Direct:
    """A row looked up by its key is the answer. Each output is a column of those that `get` reads, or a constant."""

    get: PointGet
    outputs: tuple[InputRef | Expr, ...]


@dataclass(frozen=True, slots=True)
class ComputedRows:
    """DuckDB computes the query over its inputs."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What answers a query.

    `query` is the logical plan, with indexes in place of the tables that they are read for. `inputs` are its scans'
    rows, one per scan, left to right. Both are there always: where parameters have values that `answer` cannot do
    with (a key that overflows its type), DuckDB computes the query. `custom`: the values of parameters may give better
    keys, so that the query is planned again when it has them.
    """

    query: LogicalPlan
    inputs: tuple[Input, ...]
    answer: ConstantRows | Direct | ComputedRows
    custom: bool = False
