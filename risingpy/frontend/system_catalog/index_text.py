"""An index as SQL and as SHOW INDEXES print it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count
from typing import TypeAlias

from sqlglot import exp

from risingpy.frontend.parser.parse import parse_expression
from risingpy.functions.topics.object_names import quote_name
from risingpy.plan.catalog import Index, IndexedRelation, IndexKey, IndexPredicate
from risingpy.plan.expressions import InputRef
from risingpy.plan.operator_classes import CLASS_OF_DISTANCE

PrintedPart: TypeAlias = Callable[[IndexKey | IndexPredicate], str]
"""Prints a key that is an expression, or a predicate, as PostgreSQL does."""
_CALL_OF = re.compile(r'(\w+|"[^"]+")\(((?:[^()]|\([^()]*\))*)\)')
_CAST_OF = re.compile(r"\(?(\w+)\)?::[\w ]+")
_IS_CALL = re.compile(r'(?:\w+|"[^"]+")(?:\.(?:\w+|"[^"]+"))?\(')


def key_text(key: IndexKey, indexed: IndexedRelation) -> str:
    """The text of a key: the column's current name, or the expression."""
    if isinstance(key.expression, InputRef):
        return quote_name(_name(indexed, key.expression.index))
    return key.text


def included_names(index: Index, indexed: IndexedRelation) -> list[str]:
    """The names of the columns that the index includes besides its keys."""
    return [quote_name(indexed.columns[number - 1].name) for number in included_numbers(index, indexed)]


def named_included_numbers(index: Index, indexed: IndexedRelation) -> list[int]:
    """The numbers of the columns that INCLUDE names. Without INCLUDE ours have every column, PostgreSQL's none."""
    return [] if index.index.include is None else included_numbers(index, indexed)


def included_numbers(index: Index, indexed: IndexedRelation) -> list[int]:
    """The numbers, from 1, of the relation's columns that the index includes besides its keys."""
    keys = {key.expression.index for key in index.index.keys if isinstance(key.expression, InputRef)}
    there = {column.column_id: number for number, column in enumerate(indexed.columns, 1) if not column.hidden}
    ids = there if index.index.include is None else index.index.include
    return [there[column_id] for column_id in ids if column_id in there and column_id not in keys]


def index_key_numbers(index: Index, indexed: IndexedRelation) -> list[int]:
    """For each key, the number of the relation's column, from 1; 0 for an expression."""
    numbers = {column.column_id: number for number, column in enumerate(indexed.columns, 1)}
    return [numbers[k.expression.index] if isinstance(k.expression, InputRef) else 0 for k in index.index.keys]


def shown_key(key: IndexKey, indexed: IndexedRelation, printed: PrintedPart | None = None) -> str:
    """The text of a key as a definition has it: an expression in parentheses, unless it is a call.

    `printed` gives the text of an expression, for which PostgreSQL does not count the parentheses that it has.
    """
    if isinstance(key.expression, InputRef):
        return key_text(key, indexed)
    if printed is None and isinstance(parse_expression(key.text).tree, exp.Paren):
        return key.text  # as it was written
    text = key.text if printed is None else printed(key)
    return text if _IS_CALL.match(text) and text.endswith(")") else f"({text})"


def column_names(texts: Sequence[str | None]) -> list[str]:
    """What PostgreSQL calls an index's columns: None stands for a key that has a name, the others are expressions.

    A call is called like its function, a cast like its column, any other one `expr`; if the name is taken, with a
    number.
    """
    names = list[str]()
    for text in texts:
        found = None if text is None else _CALL_OF.fullmatch(text) or _CAST_OF.fullmatch(text)
        base = "" if text is None else "expr" if found is None else found[1].strip('"').lower()
        taken = (f"{base}{number or ''}" for number in count())
        names.append(next(name for name in taken if not base or name not in names))
    return names


def ordered_text(
    key: IndexKey,
    indexed: IndexedRelation,
    *,
    ascending: str = "",
    printed: PrintedPart | None = None,
) -> str:
    """The text of a key with its order, unless that is the default."""
    text = shown_key(key, indexed, printed)
    text += " DESC" if key.descending else ascending
    if key.nulls_first != key.descending:
        text += " NULLS FIRST" if key.nulls_first else " NULLS LAST"
    return text


def index_definition_text(
    index: Index,
    indexed: IndexedRelation,
    owner: str | None = None,
    printed: PrintedPart | None = None,
    *,
    spread: bool = False,
) -> str:
    """The index as pg_get_indexdef prints it. `owner` is what the relation is called, with its schema by default.

    `spread`: with DISTRIBUTED BY, which PostgreSQL has not.
    """
    if owner is None:
        owner = f"{quote_name(indexed.schema_name)}.{quote_name(indexed.name)}"
    nearest = index.index.nearest
    if nearest is not None:
        of = f"{key_text(index.index.keys[0], indexed)} {CLASS_OF_DISTANCE[nearest.distance]}"
        options = f"m='{nearest.connectivity}', ef_construction='{nearest.construction}'"
        return f"CREATE INDEX {quote_name(index.name)} ON {owner} USING hnsw ({of}) WITH ({options})"
    keys = ", ".join(ordered_text(key, indexed, printed=printed) for key in index.index.keys)
    rule = index.index.unique
    text = (
        f"CREATE {'INDEX' if rule is None else 'UNIQUE INDEX'} {quote_name(index.name)} ON {owner} USING btree ({keys})"
    )
    if index.index.include is not None:
        text += f" INCLUDE ({', '.join(included_names(index, indexed))})" if included_names(index, indexed) else ""
    if spread:
        first = [key_text(each, indexed) for each in index.index.keys[: index.index.distributed_by]]
        text += f" DISTRIBUTED BY ({', '.join(first)})"
    text += " NULLS NOT DISTINCT" if rule is not None and not rule.nulls_distinct else ""
    predicate = index.index.predicate
    if predicate is None:
        return text
    return f"{text} WHERE {f'({predicate.text})' if printed is None else printed(predicate)}"


def is_spread(index: Index) -> bool:
    """Whether DISTRIBUTED BY says something of the index: a unique one, and one of vectors, do not take it."""
    return index.index.unique is None and index.index.nearest is None


def _name(relation: IndexedRelation, column_id: int) -> str:
    return next(column.name for column in relation.columns if column.column_id == column_id)
