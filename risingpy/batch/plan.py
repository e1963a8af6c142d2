"""A batch plan: how a query is answered, as data. `planner.py` makes it when a statement is prepared.

    SELECT a FROM t WHERE id = $1   =>   Direct(PointGet(t, key [$1]), outputs [$0])
    SELECT b, a FROM t LIMIT 9      =>   CopiedRows, inputs: FullScan(t)
    SELECT count(*) FROM t, u       =>   ComputedRows, inputs: FullScan(t), FullScan(u)

A plan is valid for one catalog. Parameters stay parameters in it: each run puts their values into the keys, and reads.
"""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.plan.catalog import ExternalSource, Index, StoredRelation, Table
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import LogicalPlan, SystemScan


@dataclass(frozen=True, slots=True)
class FullScan:
    """Every row of a relation, in no order: the columns at these positions of the relation.

    A source has no rows to read: `reads.py` refuses it when the query runs, so EXPLAIN still shows the plan.
    """

    relation: StoredRelation | ExternalSource
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KeyBound:
    """A comparison of a column with a constant, or with what is one once parameters have values.

    `comparison` is "lt", "le", "gt" or "ge", and the column is its first operand.
    """

    comparison: str
    value: Expr


@dataclass(frozen=True, slots=True)
class RangeScan:
    """The rows whose first key column satisfies all bounds, of which there is at least one; or some more."""

    relation: StoredRelation
    bounds: tuple[KeyBound, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IndexRange:
    """The rows of a relation between bounds, by an index, if they are few; else all rows, for the filter above."""

    scan: RangeScan
    otherwise: FullScan

    @property
    def relation(self) -> StoredRelation:
        return self.scan.relation

    @property
    def columns(self) -> tuple[int, ...]:
        return self.scan.columns


@dataclass(frozen=True, slots=True)
class FirstOfKey:
    """The first rows of a scan by the first columns of the key, or if `backward` the last; and some more.

    They are as many as all `counts` together, LIMIT and OFFSET, which are constants once parameters have values. What
    is scanned may be an index. `has_nulls`: rows with NULL in the first column are among them.
    """

    scan: FullScan | RangeScan
    counts: tuple[Expr, ...]
    backward: bool
    has_nulls: bool = False

    @property
    def relation(self) -> StoredRelation:
        relation = self.scan.relation
        assert not isinstance(relation, ExternalSource)
        return relation

    @property
    def columns(self) -> tuple[int, ...]:
        return self.scan.columns


@dataclass(frozen=True, slots=True)
class PointGet:
    """The row with a whole key, if it exists.

    `key` has an expression per column of the storage key, in its order: a constant in its stored form, or an expression
    that is a constant once parameters have values (`keys.is_key_expression`).
    """

    relation: StoredRelation
    key: tuple[Expr, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PrefixScan:
    """The rows whose key begins with these values, of which there is at least one. The relation may be an index."""

    relation: StoredRelation
    key: tuple[Expr, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ListScan:
    """The rows whose first key column has one of these values: `id IN (1, 2)`. The relation may be an index.

    `values` are distinct constants in the column's stored form; the column alone tells on which shard a row is.
    """

    relation: StoredRelation
    values: tuple[object, ...]
    columns: tuple[int, ...]


KeyRead = PointGet | PrefixScan | ListScan
"""Reads of a relation by its key."""


@dataclass(frozen=True, slots=True)
class NearestRows:
    """At least `limit` rows of a relation, those nearest to `vector` as its index of vectors finds them.

    Both are constants once parameters have values. Every row, if the index cannot answer.
    """

    relation: StoredRelation
    index: Index
    vector: Expr
    limit: Expr
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FoundByIndex:
    """Rows of a table, all columns, for a transaction that has changed it.

    An index has only committed rows, so it gives the keys of committed rows that may match. An Overlay also needs the
    committed rows of the keys that the transaction has changed. A row that is among both comes twice.
    """

    relation: Table
    index: KeyRead


@dataclass(frozen=True, slots=True)
class Overlay:
    """Rows of a table with the transaction's uncommitted writes applied.

    `rows` gives all columns of the committed rows, at least of those keys that the filter above selects. Changes of
    other keys are applied, too, and the filter drops their rows.
    """

    table: Table
    rows: FullScan | RangeScan | KeyRead | FoundByIndex
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SystemRows:
    """The rows of a system relation, which are computed when the query runs."""

    scan: SystemScan


Input = FullScan | RangeScan | IndexRange | FirstOfKey | KeyRead | NearestRows | Overlay | SystemRows
"""Where a scan of the query gets its rows (`reads.py` reads them)."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Of input `target`, a scan, a join needs only rows with values that column `place` of input `source` has.

    `by` is the relation itself, or an index of it, whose first key column is the joined one; `columns` are those of the
    scan by their positions there.
    """

    target: int
    source: int
    place: int
    by: StoredRelation
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ConstantRows:
    """Rows of constants and parameters, a tuple of expressions per column."""

    columns: tuple[tuple[Expr, ...], ...]


@dataclass(frozen=True, slots=True)
class Direct:
    """A row found by its key is the answer. Each output is a constant, or a column that `get` reads."""

    get: PointGet
    outputs: tuple[InputRef | Expr, ...]

    @property
    def is_all_of_row(self) -> bool:
        """Whether the outputs are just the columns that are read, in their order."""
        places = [output.index for output in self.outputs if isinstance(output, InputRef)]
        return len(places) == len(self.outputs) and places == [*range(len(self.get.columns))]


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """The rows of the only input are the answer, with its columns at these places: there is nothing to compute.

    Of them, `limit` rows after `offset` (None: all, from the first one): constants once parameters have values.
    """

    columns: tuple[int, ...]
    limit: Expr | None = None
    offset: Expr | None = None


@dataclass(frozen=True, slots=True)
class NotedCount:
    """The number of the only input's rows, all of a relation's: its store has noted it."""


@dataclass(frozen=True, slots=True)
class ComputedRows:
    """DuckDB computes the query over its inputs."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The plan of a query.

    `query` is the logical plan, with scans of indexes in place of those of tables. `inputs` has a node per scan, left
    to right. Every plan has both: if `answer` cannot use the values of parameters (a key that overflows its type, a
    negative LIMIT), DuckDB computes the query. `custom`: the values of parameters may give better keys, so that the
    query is planned again with them. `read_again` are the numbers of the inputs that a recursion reads once for each of
    its steps. `lookups` are the ways in which rows of one input may be found with those of another one.
    """

    query: LogicalPlan
    inputs: tuple[Input, ...]
    answer: ConstantRows | Direct | CopiedRows | NotedCount | ComputedRows
    custom: bool = False
    read_again: frozenset[int] = frozenset()
    lookups: tuple[Lookup, ...] = ()
