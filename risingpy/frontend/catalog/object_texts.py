"""Texts that name an object, as regclass and its siblings read them: split as SQL would, and found by one spelling.

    pg_class, PG_CLASS, " pg_class "              =>  "pg_class"
    "public" . "kv", public.kv, dev.public.kv     =>  "public"."kv"
    integer, int4, pg_catalog.int4, "int4"        =>  int4                (types by their name in pg_type)
    character varying(10)[]                       =>  _varchar

A key never fails: what is no name has none. Why nothing was found, `no_such_object` says.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from risingpy.errors import SqlError, UndefinedFunction, UndefinedObject, UndefinedTable
from risingpy.frontend.catalog.function_texts import canonical_signature
from risingpy.frontend.catalog.pg_type import TYPES
from risingpy.frontend.catalog.system_relation import quote_name, relation_key

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
    """By which the relations of `object_names.py` and `pg_proc.py` find what a text of this type names."""
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
        if parts is None or len(parts) > 2 or (len(parts) == 2 and parts[0] != "pg_catalog"):
            return None
        name = parts[-1]
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
    """The error that a text raises by which no object is found."""
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
