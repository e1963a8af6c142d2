"""Expressions as PostgreSQL's parse analysis leaves them, of which `expression_writer` makes text.

Casts that nobody wrote are nodes here: PostgreSQL prints most of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class Name:
    """A column; `table` is what its FROM item is called, None for a column that a full join merged."""

    table: str | None
    column: str


@dataclass(frozen=True, slots=True)
class PrintedConstant:
    """A constant: its text, quoted where it needs to be, and the type that is printed after it, if one is."""

    text: str
    label: SqlType | None = None


@dataclass(frozen=True, slots=True)
class Converted:
    """A cast. `bare`: the argument is a constant of the same type, and is printed without its own type."""

    arg: Node
    type: SqlType
    implicit: bool = False
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator with one or two arguments; IS DISTINCT FROM is one."""

    symbol: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class BooleanOperation:
    """AND, OR and NOT."""

    word: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Test:
    """IS NULL, IS NOT TRUE, …"""

    arg: Node
    words: str


@dataclass(frozen=True, slots=True)
class Quantified:
    """`arg symbol ANY (array)`, or ALL."""

    arg: Node
    symbol: str
    word: str
    array: Node


@dataclass(frozen=True, slots=True)
class Branches:
    """CASE."""

    subject: Node | None
    branches: tuple[tuple[Node, Node], ...]
    default: Node


@dataclass(frozen=True, slots=True)
class Listed:
    """A list between two texts: ARRAY[…], ROW(…), COALESCE(…)."""

    opening: str
    items: tuple[Node, ...]
    closing: str


@dataclass(frozen=True, slots=True)
class Order:
    """An item of ORDER BY."""

    node: Node
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class WindowText:
    """What stands in OVER (…). `gap`: of RisingWave's SESSION WITH GAP."""

    partition_by: tuple[Node, ...] = ()
    order_by: tuple[Order, ...] = ()
    frame: str = ""
    base: str = ""
    gap: Node | None = None


@dataclass(frozen=True, slots=True)
class Called:
    """A call. `args` None stands for `*`; `within` is what WITHIN GROUP sorts by; `over` a window or its name."""

    name: str
    args: tuple[Node, ...] | None
    distinct: bool = False
    order_by: tuple[Order, ...] = ()
    within: tuple[Order, ...] = ()
    condition: Node | None = None
    over: WindowText | str | None = None
    is_aggregate: bool = False
    ignores_nulls: bool = False


@dataclass(frozen=True, slots=True)
class Spelled:
    """What has a syntax of its own, as words and expressions in turn: EXTRACT(year FROM x)."""

    parts: tuple[str | Node, ...]
    is_simple: bool = True  # PostgreSQL puts it into no further parentheses


@dataclass(frozen=True, slots=True)
class Element:
    """`arg[…]` or `(arg).field`."""

    arg: Node
    parts: tuple[str | Node, ...]
    is_field: bool = False


@dataclass(frozen=True, slots=True)
class Nested:
    """A subquery: `left words (query)`. `tree` is the query's tree, which is written where it stands."""

    tree: exp.Expr = field(compare=False)
    words: str = ""
    left: tuple[Node, ...] = ()


Node = (
    Name
    | PrintedConstant
    | Converted
    | Operation
    | BooleanOperation
    | Test
    | Quantified
    | Branches
    | Listed
    | Called
    | Spelled
    | Element
    | Nested
)
