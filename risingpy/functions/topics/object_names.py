"""Texts that name an object, for regclass and similar types: split as SQL does, and reduced to one spelling.

    pg_class, PG_CLASS, " pg_class "              =>  "pg_class"
    "public" . "kv", public.kv, dev.public.kv     =>  "public"."kv"
    integer, int4, pg_catalog.int4, "int4"        =>  int4                (types by their name in pg_type)
    character varying(10)[]                       =>  _varchar

Making a key never fails: a text that is no name has no key. `no_such_object` gives the error for a missing object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import (
    InvalidParameterValue,
    NumericValueOutOfRange,
    SqlError,
    UndefinedFunction,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)
from risingpy.functions.topics.calling import Function, by_row, fail_where
from risingpy.sql_quoting import double_quoted
from risingpy.types.type_entries import TYPES

_DISPLAY = {entry.name: entry.display for entry in TYPES}
SPELLINGS = {"int": "integer", "decimal": "numeric", "float": "double precision"}
SPELLINGS |= _DISPLAY | dict.fromkeys(("text", "string"), "character varying")  # which are one type here

MOST_OID = (1 << 32) - 1
_PLAIN_NAME = re.compile("[a-z_][a-z0-9_]*")
_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^\W\d][\w$]*))\s*(\.|$)')
_LENGTHS = re.compile(r"\(\s*\d+(\s*,\s*\d+)?\s*\)")
_DIMENSION = re.compile(r"\s*\[\s*\d*\s*\]\s*$")
# What PostgreSQL's grammar calls types, besides format_type's names; elsewhere a type goes by its name in pg_type.
_GRAMMAR = {
    "int": "int4",
    "decimal": "numeric",
    "dec": "numeric",
    "float": "float8",
    "char": "bpchar",
    "char varying": "varchar",
    "nchar": "bpchar",
    "string": "text",
    "time": "time",
    "timestamp": "timestamp",
}
_TYPE_NAMES = {
    entry.display: entry.name for entry in TYPES if not entry.element_oid and entry.name != "char"
} | _GRAMMAR


def name_parts(text: str) -> list[str] | None:
    """The parts of a dotted name, folded unless they are quoted; None if it is none."""
    parts, at = [], 0
    while True:
        found = _PART.match(text, at)
        if found is None:
            return None
        parts.append(found[1].replace('""', '"') if found[1] is not None else found[2].lower())
        at = found.end()
        if found[3] != ".":
            return parts


def key(kind: str, text: str, database: str) -> str | None:
    """The key by which the system catalogs' lookups find the object that a text of this type names."""
    match kind:
        case "regclass":
            parts = name_parts(text)
            if parts is None or len(parts) > 3 or (len(parts) == 3 and parts[0] != database):
                return None
            return relation_key(parts[-2:])
        case "regtype":
            return type_key(text)
        case "regprocedure":
            signature = canonical_signature(text)
            name, bracket, types = signature.partition("(")
            parts = name_parts(name)
            return None if parts is None or not bracket else ".".join(map(quote_name, parts)) + "(" + types
        case _:
            parts = name_parts(text)
            return None if parts is None else ".".join(map(quote_name, parts))


def type_key(text: str) -> str | None:
    """The name in pg_type of the type that a text means."""
    dimensions = 0
    while found := _DIMENSION.search(text):
        text, dimensions = text[: found.start()], dimensions + 1
    words = " ".join(_LENGTHS.sub(" ", text).split())
    name = _TYPE_NAMES.get(words.lower())
    if name is None:
        parts = name_parts(words)
        if parts is None or len(parts) > 2:
            return None
        name = parts[-1]
        if len(parts) == 2 and parts[0] != "pg_catalog":  # of a type that a user has created
            return f"{parts[0]}.{'_' if dimensions else ''}{name}"
    return f"_{name}" if dimensions else name


def malformed(kind: str, text: str, database: str) -> SqlError | None:
    """Why a text is no name of such an object; None if it is one."""
    parts = name_parts(text.partition("(")[0] if kind == "regprocedure" else text)
    if kind == "regtype":
        return None
    if parts is None or (kind in ("regnamespace", "regrole") and len(parts) > 1):
        return SqlError("invalid name syntax", sqlstate="42602")
    if kind == "regclass" and len(parts) > 3:
        words = f"improper relation name (too many dotted names): {text}"
        return SqlError(words, sqlstate="42601")
    if kind == "regclass" and len(parts) == 3 and parts[0] != database:
        words = f'cross-database references are not implemented: "{".".join(parts)}"'
        return SqlError(words, sqlstate="0A000")
    return None


def no_such_object(kind: str, text: str, database: str, schemas: Collection[str]) -> SqlError:
    """The error for a text that names no object."""
    wrong = malformed(kind, text, database)
    if wrong is not None:
        return wrong
    parts = name_parts(text)
    match kind:
        case "regclass":
            assert parts is not None
            if len(parts) > 1 and parts[-2] not in schemas:
                return SqlError(f'schema "{parts[-2]}" does not exist', sqlstate="3F000")
            return UndefinedTable(f'relation "{".".join(parts)}" does not exist')
        case "regtype":
            if parts is not None and len(parts) > 1 and parts[-2] not in schemas:
                return SqlError(f'schema "{parts[-2]}" does not exist', sqlstate="3F000")
            shown = text if parts is None else ".".join(parts)
            return UndefinedObject(f'type "{shown}" does not exist')
        case "regnamespace":
            return SqlError(f'schema "{text}" does not exist', sqlstate="3F000")
        case "regrole":
            return UndefinedObject(f'role "{text}" does not exist')
    return UndefinedFunction(f'function "{text}" does not exist')


def canonical_signature(text: str) -> str:
    """`f( int , text )` as `f(integer,text)`."""
    found = re.fullmatch(r"\s*(.+?)\s*\((.*)\)\s*", text, re.DOTALL)
    if found is None:
        return text.strip()
    types = [_canonical_type(word) for word in found[2].split(",")] if found[2].strip() else []
    return f"{found[1]}({','.join(types)})"


def _canonical_type(text: str) -> str:
    word = " ".join(text.lower().split()).removeprefix("pg_catalog.")
    element = word.removesuffix("[]")
    return SPELLINGS.get(element, element) + word[len(element) :]


def relation_key(parts: Collection[str]) -> str:
    """A dotted name in the one form in which `rp_spellings` has it: every part quoted."""
    return ".".join(double_quoted(part) for part in parts)


def quote_name(name: str) -> str:
    """An identifier as SQL needs it: quoted only where it is no plain lower-case word."""
    return name if _PLAIN_NAME.fullmatch(name) else double_quoted(name)


def _refuse(kind: str, text: str, database: str, schemas: str, _each_time: float) -> int:
    """`schemas` is a JSON array."""
    raise no_such_object(kind, text, database, json.loads(schemas))


def _refuse_fork(_name: str, _each_time: float) -> int:
    raise InvalidParameterValue("invalid fork name", hint='Valid fork names are "main", "fsm", "vm", and "init".')


def _refuse_digest(text: str, exists: bool, _each_time: float) -> str:
    if exists:
        raise WrongObjectType(f'"{text}" is not a table or materialized view')
    raise UndefinedTable(f'relation "{text}" does not exist')


def _allow(kind: str, text: str, database: str, _each_time: float) -> int | None:
    wrong = malformed(kind, text, database)
    if wrong is not None:
        raise wrong
    return None


# The last argument of those that raise is a random number: DuckDB makes no call of one ahead of the CASE around it.
def _checked_oid(numbers: pa.Array) -> pa.Array:
    outside = pc.or_(pc.less(numbers, 0), pc.greater(numbers, MOST_OID))
    fail_where(outside, NumericValueOutOfRange, "OID out of range")
    return numbers


def _bits_of_oid(numbers: pa.Array) -> pa.Array:
    return pc.bit_wise_and(numbers.cast(pa.int64()), pa.scalar(MOST_OID, pa.int64()))


OBJECT_NAMES: dict[str, Function] = {
    "bigint_to_oid": Function(_checked_oid),
    "integer_to_oid": Function(_bits_of_oid),
    "object_key": Function(by_row(key, pa.string())),
    "object_refused": Function(by_row(_refuse, pa.int64())),
    "digest_refused": Function(by_row(_refuse_digest, pa.string())),
    "fork_refused": Function(by_row(_refuse_fork, pa.int64())),
    "object_allowed": Function(by_row(_allow, pa.int64())),
}
