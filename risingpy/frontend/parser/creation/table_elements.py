"""What stands in the parentheses of CREATE TABLE and CREATE SOURCE: columns, constraints, WATERMARK and LIKE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.parser.ast_constraints import ConstraintDefinition, KeyDefinition, UniqueDefinition
from risingpy.frontend.parser.ast_create import LikeClause, LikeOption, TextPlace
from risingpy.frontend.parser.ast_parts import (
    ColumnDefinition,
    ColumnName,
    Expression,
    ObjectName,
    SequenceOptions,
    TypeName,
    WatermarkDefinition,
)
from risingpy.frontend.parser.creation.constraint import (
    begins_table_constraint,
    parse_column_constraint,
    parse_table_constraint,
)
from risingpy.frontend.parser.creation.sequence import parse_numbering
from risingpy.frontend.parser.cursor import Cursor

_OTHER_CONSTRAINTS = ("GENERATED", "AS")


@dataclass(frozen=True, slots=True)
class TableElements:
    """What stands in the parentheses of CREATE TABLE."""

    columns: tuple[ColumnDefinition, ...] = ()
    keys: tuple[KeyDefinition, ...] = ()
    watermark: WatermarkDefinition | None = None
    all_columns: bool = False  # (*)
    place: TextPlace | None = None
    constraints: tuple[ConstraintDefinition, ...] = ()
    likes: tuple[LikeClause, ...] = ()


def parse_elements(cursor: Cursor) -> TableElements:
    """`(column, constraint, WATERMARK, LIKE table, …)`; as in RisingWave, a comma may stand after the last one."""
    columns: list[ColumnDefinition] = []
    constraints: list[ConstraintDefinition] = []
    watermarks: list[WatermarkDefinition] = []
    stars: list[str] = []
    likes: list[LikeClause] = []

    def element() -> None:
        if cursor.accept("*"):
            stars.append("*")
            return
        if cursor.peek(2) == ["WATERMARK", "FOR"]:
            watermarks.append(parse_watermark(cursor))
            return
        if cursor.accept("LIKE"):
            likes.append(_parse_like(cursor, len(columns)))
            return
        if begins_table_constraint(cursor):
            constraints.append(parse_table_constraint(cursor))
            return
        column, its_constraints = parse_column(cursor)
        columns.append(column)
        constraints.extend(its_constraints)

    begin = cursor.position
    cursor.expect("(")
    while cursor.word != ")":
        element()
        if cursor.word != ")":
            cursor.expect(",")
    place = TextPlace(begin, cursor.position + 1)
    cursor.expect(")")
    if len(watermarks) > 1:
        message = "more than one WATERMARK of a table is not supported"
        raise FeatureNotSupported(message, position=watermarks[1].position)
    keys = tuple(each for each in constraints if isinstance(each, KeyDefinition))
    others = tuple(each for each in constraints if not isinstance(each, KeyDefinition))
    watermark = watermarks[0] if watermarks else None
    return TableElements(tuple(columns), keys, watermark, bool(stars), place, others, tuple(likes))


def _parse_like(cursor: Cursor, place: int) -> LikeClause:
    """`table [INCLUDING | EXCLUDING option …]`; the last word on an option counts."""
    table = cursor.object_name()
    options: set[LikeOption] = set()
    while cursor.word in ("INCLUDING", "EXCLUDING"):
        including = cursor.one_of("INCLUDING", "EXCLUDING") == "INCLUDING"
        word = cursor.one_of("ALL", *(each.value for each in LikeOption))
        named = set(LikeOption) if word == "ALL" else {LikeOption(word)}
        options = options | named if including else options - named
    return LikeClause(table, frozenset(options), place)


def parse_watermark(cursor: Cursor) -> WatermarkDefinition:
    """`WATERMARK FOR column AS expression [WITH TTL]`."""
    position = cursor.position
    cursor.expect("WATERMARK", "FOR")
    column = cursor.name()
    cursor.expect("AS")
    expression = cursor.expression()
    return WatermarkDefinition(column, expression, position, ttl=cursor.accept("WITH", "TTL"))


def null_in_deferrable_key(column: ColumnName | ColumnDefinition) -> FeatureNotSupported:
    """Of a column that says NULL and is in a DEFERRABLE PRIMARY KEY, which PostgreSQL makes NOT NULL."""
    message = f'NULL in a DEFERRABLE primary key is not supported: column "{column.name}" says NULL'
    return FeatureNotSupported(message, position=column.position)


def parse_column(cursor: Cursor) -> tuple[ColumnDefinition, tuple[ConstraintDefinition, ...]]:
    """(One column, its UNIQUE, CHECK and REFERENCES); what says something of the column comes in any order.

    The name of NOT NULL and of other such words is read and dropped.
    """
    name = cursor.name()
    type_name: TypeName = cursor.type_name()
    not_null = says_null = primary_key = False
    default: Expression | None = None
    generated: Expression | None = None
    identity: Literal["ALWAYS", "BY DEFAULT"] | None = None
    numbering = SequenceOptions()
    constraints: list[ConstraintDefinition] = []
    key_name: str | None = None
    collation: ObjectName | None = None
    while not cursor.at_end and cursor.word not in (",", ")"):
        given_name = cursor.name() if cursor.accept("CONSTRAINT") else None
        constraint = parse_column_constraint(cursor, given_name, name)
        if isinstance(constraint, KeyDefinition):
            primary_key, key_name = True, None if given_name is None else given_name.name
        elif constraint is not None:
            constraints.append(constraint)
            not_null |= isinstance(constraint, UniqueDefinition) and constraint.is_primary
        elif cursor.accept("NOT", "NULL"):
            not_null = True
        elif cursor.accept("DEFAULT"):
            default = cursor.default_expression()
        elif cursor.accept("GENERATED", "BY", "DEFAULT", "AS", "IDENTITY"):
            identity, numbering = "BY DEFAULT", parse_numbering(cursor)
        elif cursor.accept("GENERATED", "ALWAYS", "AS", "IDENTITY"):
            identity, numbering = "ALWAYS", parse_numbering(cursor)
        elif cursor.accept("AS") or cursor.accept("GENERATED", "ALWAYS", "AS"):
            generated = cursor.generation_expression()
            cursor.accept("STORED")
        elif cursor.accept("COLLATE"):
            collation = cursor.object_name()
        elif cursor.word in _OTHER_CONSTRAINTS:
            cursor.unsupported(f"{cursor.word} constraint")
        elif cursor.accept("NULL"):
            says_null = True
        else:
            cursor.fail()
    if says_null and any(isinstance(each, UniqueDefinition) and each.is_primary for each in constraints):
        raise null_in_deferrable_key(name)
    column = ColumnDefinition(
        *(name.name, type_name, name.position, not_null, primary_key, default, generated, identity, numbering),
        *(key_name, collation, says_null),
    )
    return column, tuple(constraints)
