"""The columns of a relation: what computes or numbers their values, and the watermark over one of them."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.plan.catalog.domains import DomainType
from risingpy.plan.expression_trees import columns_read
from risingpy.plan.expressions import Expr
from risingpy.storage.codec.table_schema import ROW_ID as ROW_ID
from risingpy.storage.codec.table_schema import ColumnHistory
from risingpy.types import SqlType, TypeKind
from risingpy.types.system_types import as_text


@dataclass(frozen=True, slots=True)
class Generated:
    """GENERATED ALWAYS AS (text): an expression whose `InputRef`s count by column id, so that ALTER leaves it alone."""

    text: str
    expression: Expr


@dataclass(frozen=True, slots=True)
class Counting:
    """What numbers a sequence gives: `start`, `start + increment` and so on, between `minimum` and `maximum`.

    With `cycles` it begins again at the other end. `cache` is only shown: numbers are always handed out in blocks.
    """

    type: SqlType
    start: int
    increment: int
    minimum: int
    maximum: int
    cycles: bool = False
    cache: int = 1


@dataclass(frozen=True, slots=True)
class Identity:
    """GENERATED … AS IDENTITY, or a type serial: where a row says nothing the next number of `sequence` stands.

    `always`: no other values are taken. `is_serial`: the column has PostgreSQL's type serial. Until the table is made,
    `wanted` is what the sequence is to count (None: what the type says), and `sequence_name` its name if it was given.
    Earlier versions had no sequence, but a `counter` of these numbers; opening a store gives the column a sequence.
    """

    counter: int
    always: bool
    start: int = 1
    increment: int = 1
    minimum: int | None = None
    maximum: int | None = None
    sequence: int = 0
    is_serial: bool = False
    wanted: Counting | None = None
    sequence_name: tuple[str | None, str] | None = None


@dataclass(frozen=True, slots=True)
class ColumnDesc:
    """A column of a relation. `default` is the SQL text of its DEFAULT; `history`: see `TableColumn`.

    `sequences` are the ids of the sequences that the default names: by their ids, as `nextval('16400'::regclass)`.
    `as_text`: the type was written `text`, which is another name of varchar; catalogs show the one that was written.
    `domain`: the domain that it is of, or an array of; `type` is the type of its values.
    `null_in_key`: it was declared NULL and is in the primary key, which refuses no NULL there.
    """

    column_id: int
    name: str
    type: SqlType
    not_null: bool = False
    hidden: bool = False
    default: str | None = None
    history: ColumnHistory | None = None
    generated: Generated | None = None
    identity: Identity | None = None
    sequences: tuple[int, ...] = ()
    as_text: bool = False
    domain: DomainType | None = None
    null_in_key: bool = False

    def refuses_null(self, *, in_key: bool) -> bool:
        """Whether no row may have NULL here. `in_key`: the column is in the primary key of its table."""
        return self.not_null or (in_key and not self.null_in_key)

    @property
    def shown_type(self) -> SqlType:
        """The type as catalogs show it."""
        return as_text(self.type) if self.as_text else self.type

    @property
    def type_oid(self) -> int:
        """The oid of the type as catalogs show it: that of the domain, if it is of one."""
        return self.shown_type.oid if self.domain is None else self.domain.oid_for(self.type)


@dataclass(frozen=True, slots=True)
class RowRetention:
    """WITH (retention_seconds = …) or (ttl = …): a row ends so long after it was written. `table_id`: of its times.

    `ages_table`, with ttl: of the times by key. Such rows are deleted, and readers are told.
    """

    seconds: int
    table_id: int
    ages_table: int | None = None


@dataclass(frozen=True, slots=True)
class Watermark:
    """WATERMARK FOR a column AS text: rows are late that are below the expression's greatest value so far.

    The expression's `InputRef`s count by column id. `ttl`: the table deletes its rows when they would be late;
    `expiry_table` is the id of the state table in which it finds them by that column.
    """

    column_id: int
    text: str
    expression: Expr
    ttl: bool = False
    expiry_table: int | None = None

    @property
    def columns_read(self) -> frozenset[int]:
        """The ids of the columns that it needs."""
        return frozenset({self.column_id, *columns_read(self.expression)})


GREATEST_INTEGERS = {TypeKind.SMALLINT: 2**15 - 1, TypeKind.INTEGER: 2**31 - 1, TypeKind.BIGINT: 2**63 - 1}


def identity_bounds(type_: SqlType, increment: int, minimum: int | None, maximum: int | None) -> tuple[int, int]:
    """The least and the greatest number: from 1 on upwards, from -1 on downwards, unless others are given."""
    end = GREATEST_INTEGERS[type_.kind]
    least, greatest = (1, end) if increment > 0 else (-end - 1, -1)
    return least if minimum is None else minimum, greatest if maximum is None else maximum
