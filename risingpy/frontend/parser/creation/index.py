"""CREATE INDEX."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from risingpy.errors import InvalidParameterValue, UndefinedObject
from risingpy.frontend.parser.ast import CreateIndex, Expression, IndexElement, ObjectName
from risingpy.frontend.parser.connectors.source import OptionsReader, is_storage_parameter
from risingpy.frontend.parser.cursor import Cursor, without_parentheses

HNSW = "hnsw"  # the kind of an index of vectors
# The classes of btree. All compare as an index does here, texts by code point: those of patterns are no other order.
_OPERATOR_CLASSES = frozenset(
    f"{name}_ops"
    for name in (
        *("array", "bool", "bpchar", "bpchar_pattern", "bytea", "char", "date", "float4", "float8", "int2", "int4"),
        *("int8", "interval", "jsonb", "macaddr", "name", "numeric", "oid", "oidvector", "record", "text"),
        *("text_pattern", "time", "timestamp", "timestamptz", "uuid", "varchar", "varchar_pattern"),
    )
)


def parse_create_index(cursor: Cursor, *, unique: bool = False) -> CreateIndex:
    """`CREATE [UNIQUE] INDEX` has been taken."""
    concurrently = cursor.accept("CONCURRENTLY")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = None
    if cursor.word != "ON" or if_not_exists:  # no schema: an index is in that of what it indexes
        found = cursor.name()
        name = ObjectName(found.name, None, found.position)
    cursor.expect("ON")
    cursor.accept("ONLY")
    table = cursor.object_name()
    method = cursor.any_word() if cursor.accept("USING") else "btree"
    if method == HNSW and not unique:
        return replace(_parse_of_vectors(cursor, name, table, if_not_exists), concurrently=concurrently)
    if method != "btree":
        hint = None if method != "ivfflat" else "An index of vectors is one USING hnsw."
        cursor.unsupported(f"an index USING {method}", hint=hint)
    keys = cursor.in_parentheses(lambda: _parse_element(cursor))
    include = cursor.in_parentheses(cursor.name) if cursor.accept("INCLUDE") else None
    distributed_by: tuple[Expression, ...] = ()
    if cursor.accept("DISTRIBUTED", "BY"):
        distributed_by = cursor.in_parentheses(cursor.expression)
    nulls_distinct = True
    if cursor.accept("NULLS"):
        nulls_distinct = not cursor.accept("NOT")
        cursor.expect("DISTINCT")
    storage = _storage_parameters(cursor) if cursor.accept("WITH") else ()
    if cursor.word == "TABLESPACE":
        cursor.unsupported("CREATE INDEX … TABLESPACE")
    where = _parse_predicate(cursor) if cursor.accept("WHERE") else None
    said = (name, table, keys, include, distributed_by, if_not_exists, storage)
    return CreateIndex(*said, unique=unique, nulls_distinct=nulls_distinct, where=where, concurrently=concurrently)


def _parse_predicate(cursor: Cursor) -> Expression:
    found = cursor.expression()
    return without_parentheses(Expression(found.tree, found.text.strip(), found.position))


def _parse_of_vectors(cursor: Cursor, name: ObjectName | None, table: ObjectName, if_not_exists: bool) -> CreateIndex:
    keys = cursor.in_parentheses(lambda: _parse_vector_element(cursor))
    options = OptionsReader(cursor).read() if cursor.accept("WITH") else ()
    for word in ("INCLUDE", "WHERE", "TABLESPACE"):
        if cursor.word == word:
            cursor.unsupported(f"CREATE INDEX … USING {HNSW} … {word}")
    return CreateIndex(name, table, keys, if_not_exists=if_not_exists, options=options)


def _parse_vector_element(cursor: Cursor) -> IndexElement:
    expression = cursor.expression()
    return IndexElement(expression, operator_class=cursor.any_word() if cursor.word.endswith("_OPS") else None)


def parse_create_unique_index(cursor: Cursor) -> CreateIndex:
    """`CREATE UNIQUE` has been taken."""
    cursor.expect("INDEX")
    return parse_create_index(cursor, unique=True)


def _storage_parameters(cursor: Cursor) -> tuple[str, ...]:
    position = cursor.position
    names = tuple(name for name, _ in OptionsReader(cursor).read())
    for name in names:
        if not is_storage_parameter(name):
            raise InvalidParameterValue(f'unrecognized parameter "{name}"', position=position)
    return names


def _parse_element(cursor: Cursor) -> IndexElement:
    expression = cursor.expression()
    if isinstance(expression.tree, exp.Column) and expression.tree.args.get("table") is not None:
        cursor.fail()  # a column's name, or an expression, which PostgreSQL wants in parentheses unless it is a call
    if cursor.word.endswith("_OPS"):
        _check_operator_class(cursor)
    descending = cursor.accept("DESC")
    if not descending:
        cursor.accept("ASC")
    nulls_first = None
    if cursor.accept("NULLS"):
        nulls_first = cursor.one_of("FIRST", "LAST") == "FIRST"
    return IndexElement(expression, descending, nulls_first)


def _check_operator_class(cursor: Cursor) -> None:
    """Takes the name of an operator class, which changes nothing."""
    position, name = cursor.position, cursor.any_word()
    if name not in _OPERATOR_CLASSES:
        message = f'operator class "{name}" does not exist for access method "btree"'
        raise UndefinedObject(message, position=position)
