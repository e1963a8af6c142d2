"""Type names: from `character varying (3)` to a SqlType, and the names PostgreSQL gives to columns cast to a type."""

from __future__ import annotations

import re
from dataclasses import dataclass

from risingpy.errors import DatatypeMismatch, FeatureNotSupported, InvalidParameterValue, SyntaxError_, UndefinedObject
from risingpy.frontend.binder.typing.absent_functions import TEXT_SEARCH
from risingpy.plan.catalog import Catalog, DomainDesc, UserType
from risingpy.types import (
    DOUBLE,
    INTEGER,
    MAX_PRECISION,
    REAL,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    TypeKind,
    array_of,
    map_of,
    numeric,
    struct_of,
)
from risingpy.types.families import FAMILIES
from risingpy.types.packed.float_vector import MAX_DIMENSIONS
from risingpy.types.sql_type import BARE_TYPES
from risingpy.types.system_types import CHAR, JSON, SYSTEM_TYPES
from risingpy.types.time_precision import MOST_DIGITS

_INTERNAL_NAMES: dict[str, SqlType] = {
    **{FAMILIES[kind].name: type_ for kind, type_ in BARE_TYPES.items()},
    "text": VARCHAR,
    "json": JSON,
}

_ARRAYS = {f"_{name}": array_of(type_) for name, type_ in _INTERNAL_NAMES.items()}

CAST_FUNCTIONS: dict[str, SqlType] = {name: type_ for name, type_ in _INTERNAL_NAMES.items() if name != "rw_int256"}
"""Types whose name in a call is a cast: `int4(2.5)`, `date('2024-02-29')`."""

# SQL's names for PostgreSQL's internal ones.
_ALIASES = {alias: family.name for family in FAMILIES.values() for alias in family.aliases}

# Types of PostgreSQL and RisingWave that this version does not store.
UNSUPPORTED_TYPES = frozenset(
    """
    aclitem box cid circle gtsvector halfvec int2vector int256 jsonpath line lseg macaddr8 money name oid oidvector path
    pg_lsn pg_node_tree pg_snapshot point polygon refcursor regclass regcollation regconfig regdictionary regnamespace
    regoper regoperator regproc regprocedure regrole regtype serial bigserial smallserial serial2 serial4 serial8 tid
    sparsevec timetz tsquery tsvector txid_snapshot xid xid8 xml
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)

_DOMAINS = {  # of information_schema
    "sql_identifier": SYSTEM_TYPES["name"],
    "character_data": VARCHAR,
    "yes_or_no": VARCHAR,
    "cardinal_number": INTEGER,
    "time_stamp": TIMESTAMPTZ,
}
_UNSUPPORTED_NAMES = frozenset({"time with time zone"})  # SQL's, of such types
_SERIAL = frozenset({"smallserial", "serial", "serial2", "serial4", "serial8", "bigserial"})
_SERIAL_HINT = "It makes a column of CREATE TABLE number its rows; the values are of type smallint, integer or bigint."
INSTEAD = {  # of types that this version does not store
    "money": "numeric(19,2) holds amounts of money exactly, without a currency of the server's place.",
    "tsvector": TEXT_SEARCH,
    "tsquery": TEXT_SEARCH,
    "timetz": "A time of day with a zone has no instant: store a timestamptz, or a time beside the zone.",
    "time with time zone": "A time of day with a zone has no instant: store a timestamptz, or a time beside the zone.",
    "macaddr8": "macaddr holds addresses of six bytes; text or bytea those of eight.",
    "halfvec": "vector(n) holds vectors of reals.",
    "sparsevec": "vector(n) holds vectors of reals.",
}
_ARRAY_SUFFIX = re.compile(r"(.*?\S)\s*(?:\[\s*\d*\s*\]|\barray(?:\s*\[\s*\d+\s*\])?)", re.IGNORECASE | re.DOTALL)
_CONSTRUCTED = re.compile(r"(struct|map)\s*[<(](.*)[>)]", re.IGNORECASE | re.DOTALL)
_SYSTEM_SCHEMA = re.compile(r"^(?:[^.]+\.)?\s*pg_catalog\s*\.\s*")  # the database in front is the one there is
_QUOTED_SCHEMA = re.compile(r'^"pg_catalog"\s*\.\s*')  # as asyncpg writes it
_QUOTED_CHAR = re.compile(r'(?:^|\.)\s*"char"$')  # which is another type than char
_MODIFIERS = re.compile(r"\(([^)]*)\)")
_NAME = r'(?:"(?:[^"]|"")*"|[^\s."()]+)'
_QUALIFIED = re.compile(rf"{_NAME}(?:\s*\.\s*{_NAME})+")
_INTERVAL_FIELDS = re.compile(r"^interval (year|month|day|hour|minute|second)( to (month|day|hour|minute|second))?$")
# What PostgreSQL and pgvector call types with a length, what the length is called, and its limit.
_SIZED = {
    "varchar": ("varchar", "length", 10_485_760),
    "bpchar": ("char", "length", 10_485_760),
    "bit": ("bit", "length", 83_886_080),
    "varbit": ("varbit", "length", 83_886_080),
    "vector": ("vector", "dimensions", MAX_DIMENSIONS),
}


@dataclass(frozen=True, slots=True)
class KnownTypes:
    """The types that users have created, as one session finds them."""

    catalog: Catalog
    search_path: tuple[str, ...]

    def find(self, parts: tuple[str, ...]) -> SqlType | None:
        """The type of a name, which may have its schema in front; `_mood` is the arrays of `mood`."""
        found = self._named(parts[-1], parts)
        if found is not None:
            return found.sql_type
        element = self.created(parts)
        return None if element is None else array_of(element.sql_type)

    def created(self, parts: tuple[str, ...]) -> UserType | None:
        """What a name means that `find` knows: the type, or that of an array's elements."""
        found = self._named(parts[-1], parts)
        if found is None and parts[-1].startswith("_"):
            found = self._named(parts[-1][1:], parts)
        return found

    def row_meant(self, text: str) -> SqlType | None:
        """The type of a relation's rows, if that is what a name of no array means."""
        if is_type_of_system(text):
            return None
        parts = qualified_type_name(text) or (internal_name(text),)
        return self.row_of(parts) if self.find(parts) is None else None

    def row_of(self, parts: tuple[str, ...]) -> SqlType | None:
        """The type of the rows of the relation that a name means, as they are now; `_t` is the arrays of those of t."""
        schema = parts[-2] if len(parts) > 1 else None
        found = self.catalog.find(parts[-1], schema, self.search_path)
        if found is None:
            is_array = parts[-1].startswith("_") and len(parts[-1]) > 1
            element = self.row_of((*parts[:-1], parts[-1][1:])) if is_array else None
            return None if element is None else array_of(element)
        columns = [column for column in found.columns if not column.hidden]
        return struct_of([column.name for column in columns], [column.type for column in columns])

    def _named(self, name: str, parts: tuple[str, ...]) -> UserType | None:
        schema = parts[-2] if len(parts) > 1 else None
        return self.catalog.find_type(name, schema, self.search_path)


BUILT_IN_TYPES = KnownTypes(Catalog(), ())
"""For what can be of no type that a user has created."""


def resolve_type(
    text: str, position: int | None, types: KnownTypes, *, of_column: bool = True, of_rows: bool = False
) -> SqlType:
    """The type that `text` names. What is no column may be of a type of system catalogs.

    If it may be one `of_rows`, a relation's name means that of its rows. It does not follow the relation's changes, and
    so cannot be what a column has.

    Raises UndefinedObject (42704), FeatureNotSupported, and InvalidParameterValue for modifiers out of range.
    """
    array = _ARRAY_SUFFIX.fullmatch(text)
    if array is not None:
        return array_of(resolve_type(array[1], position, types, of_column=of_column, of_rows=of_rows))
    made = _CONSTRUCTED.fullmatch(text)
    if made is not None:
        return _constructed_type(made[1].lower(), made[2], position, types)
    internal = internal_name(text)
    if not of_column and (found := _system_type(text, internal)) is not None:
        return found
    sql_type = _INTERNAL_NAMES.get(internal) or _ARRAYS.get(internal)
    if sql_type is None:
        created = types.find(qualified_type_name(text) or (internal,))
        if created is not None:
            return _without_modifiers(created, internal, text, position)
        row = types.row_of(qualified_type_name(text) or (internal,))
        if row is not None and of_rows:
            return _without_modifiers(row, internal, text, position)
        if internal in UNSUPPORTED_TYPES or internal in _UNSUPPORTED_NAMES:
            hint = _SERIAL_HINT if internal in _SERIAL else INSTEAD.get(internal)
            raise FeatureNotSupported(f"type {internal} is not supported", position=position, hint=hint)
        shown = ".".join(qualified_type_name(text)) or internal
        if row is not None:
            message = f"the type of the rows of {shown} is not supported as what is stored"
            hint = "CREATE TYPE … AS (…) gives a type of rows a name that columns can have."
            raise FeatureNotSupported(message, position=position, hint=hint)
        raise UndefinedObject(f'type "{shown}" does not exist', position=position)
    if not _MODIFIERS.search(text):
        if internal == "bpchar" and "bpchar" not in text.lower():
            return SqlType(TypeKind.CHARACTER, length=1)
        if internal == "bit" and '"' not in text:
            return SqlType(TypeKind.BIT, length=1)
    return _with_modifiers(sql_type, internal, _modifiers(text, position), position)


def is_text_name(text: str) -> bool:
    """Whether `text` names PostgreSQL's text, or an array of it."""
    array = _ARRAY_SUFFIX.fullmatch(text)
    return is_text_name(array[1]) if array is not None else internal_name(text) == "text"


def _system_type(text: str, internal: str) -> SqlType | None:
    """The type of system catalogs that is meant; `"char"`, in quotes, is one, and `_oid` an array of them."""
    if _QUOTED_CHAR.search(text):
        return CHAR
    if internal in ("text", "char"):  # which are types of columns
        return None
    if internal.startswith("information_schema"):
        return _DOMAINS.get(internal.partition(".")[2].strip())
    if internal.startswith("_"):
        element = SYSTEM_TYPES.get(internal[1:]) or _INTERNAL_NAMES.get(internal[1:])
        return None if element is None else array_of(element)
    if internal in ("regoper", "regoperator"):  # pg_operator is empty: PostgreSQL shows such a value as its oid, too
        return SYSTEM_TYPES["oid"]
    return SYSTEM_TYPES.get(internal)


def element_name(text: str) -> str:
    """The name of what an array of whatever depth has in the end; of another type, its own name."""
    array = _ARRAY_SUFFIX.fullmatch(text)
    return text if array is None else element_name(array[1])


def is_type_of_system(text: str) -> bool:
    """Whether a name means a type that no user has created."""
    return bool(_CONSTRUCTED.fullmatch(text)) or internal_name(text) in _INTERNAL_NAMES


def _without_modifiers(created: SqlType, internal: str, text: str, position: int | None) -> SqlType:
    if _MODIFIERS.search(text):
        raise InvalidParameterValue(f'type modifier is not allowed for type "{internal}"', position=position)
    return created


def _constructed_type(word: str, inside: str, position: int | None, types: KnownTypes) -> SqlType:
    """`struct<name type, …>` and `map(key, value)`."""
    parts = _split(inside)
    if word == "map":
        if len(parts) != 2:
            raise InvalidParameterValue("a map type has a key type and a value type", position=position)
        for part in parts:
            _refuse_domain(part, position, types)
        key, value = (resolve_type(part, position, types) for part in parts)
        if not (key.is_text or key.is_integer):
            raise DatatypeMismatch(f"invalid map key type: {key}", position=position)
        return map_of(key, value)
    names, items = [], []
    for part in parts if inside.strip() else ():
        name, _, type_text = part.partition(" ")
        _refuse_domain(type_text, position, types)
        names.append(name[1:-1].replace('""', '"') if name.startswith('"') else name.lower())
        items.append(resolve_type(type_text, position, types))
    if len(set(names)) != len(names):
        raise InvalidParameterValue("the fields of a struct need distinct names", position=position)
    return struct_of(names, items)


def _refuse_domain(text: str, position: int | None, types: KnownTypes) -> None:
    """Raises FeatureNotSupported for a part whose rules nobody would look at."""
    element = element_name(text.strip())
    if is_type_of_system(element):
        return
    found = types.created(qualified_type_name(element) or (internal_name(element),))
    if isinstance(found, DomainDesc):
        message = f"domain {found.name} inside of another type is not supported"
        raise FeatureNotSupported(message, position=position, hint=f"Use its type, {found.base}.")


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]


def internal_name(text: str) -> str:
    """The name by which PostgreSQL calls the type (and a column cast to it): `int4` for integer."""
    array = _ARRAY_SUFFIX.fullmatch(text)
    if array is not None:
        return internal_name(array[1])
    made = _CONSTRUCTED.fullmatch(text)
    if made is not None:
        return "row" if made[1].lower() == "struct" else "map"
    bare = " ".join(_MODIFIERS.sub(" ", text).split())
    if _QUOTED_CHAR.search(bare):
        return "char"
    bare = _QUOTED_SCHEMA.sub("", bare)
    folded = bare[1:-1] if bare.startswith('"') and bare.endswith('"') else bare.lower()
    folded = _SYSTEM_SCHEMA.sub("", folded)
    if _INTERVAL_FIELDS.match(folded):
        return "interval"
    return _ALIASES.get(folded, folded)


def qualified_type_name(text: str) -> tuple[str, ...]:
    """The parts, folded, of a name with dots between them: its schema, and perhaps its database, and the name itself.

    Empty for a name of one part.
    """
    bare = _MODIFIERS.sub(" ", text).strip()
    if not _QUALIFIED.fullmatch(bare):
        return ()
    parts = re.findall(_NAME, bare)
    return tuple(p[1:-1].replace('""', '"') if p.startswith('"') else p.lower() for p in parts)


def _modifiers(text: str, position: int | None) -> list[int]:
    found = _MODIFIERS.search(text)
    if found is None:
        return []
    words = [word.strip() for word in found.group(1).split(",")]
    if not all(re.fullmatch(r"[+-]?\s*\d+", word) for word in words):
        raise InvalidParameterValue("type modifiers must be simple constants", position=position)
    return [int(word.replace(" ", "")) for word in words]


def _with_modifiers(sql_type: SqlType, internal: str, modifiers: list[int], position: int | None) -> SqlType:
    if not modifiers:
        return sql_type
    if sql_type.kind is TypeKind.NUMERIC and len(modifiers) <= 2:
        return _numeric(modifiers, position)
    if internal in _SIZED and len(modifiers) == 1:
        shown, what, longest = _SIZED[internal]
        if modifiers[0] < 1:
            raise InvalidParameterValue(f"{what} for type {shown} must be at least 1", position=position)
        if modifiers[0] > longest:
            raise InvalidParameterValue(f"{what} for type {shown} cannot exceed {longest}", position=position)
        return SqlType(sql_type.kind, length=modifiers[0])
    if internal == "float8" and len(modifiers) == 1:  # float(p)
        if modifiers[0] < 1:
            raise InvalidParameterValue("precision for type float must be at least 1 bit", position=position)
        if modifiers[0] > 53:
            raise InvalidParameterValue("precision for type float must be less than 54 bits", position=position)
        return REAL if modifiers[0] <= 24 else DOUBLE
    if sql_type.has_clock and len(modifiers) == 1:
        if modifiers[0] < 0:
            raise SyntaxError_('syntax error at or near "-"', position=position)
        return SqlType(sql_type.kind, length=min(modifiers[0], MOST_DIGITS))  # PostgreSQL warns of more
    raise InvalidParameterValue(f'type modifier is not allowed for type "{internal}"', position=position)


def _numeric(modifiers: list[int], position: int | None) -> SqlType:
    precision, scale = modifiers[0], modifiers[1] if len(modifiers) > 1 else 0
    if not 1 <= precision <= 1000:
        raise InvalidParameterValue(f"NUMERIC precision {precision} must be between 1 and 1000", position=position)
    if not -1000 <= scale <= 1000:
        raise InvalidParameterValue(f"NUMERIC scale {scale} must be between -1000 and 1000", position=position)
    if precision > MAX_PRECISION or not 0 <= scale <= precision:
        raise FeatureNotSupported(
            f"numeric({precision},{scale}) is not supported: at most {MAX_PRECISION} digits, scale from 0 to precision",
            position=position,
        )
    return numeric(precision, scale, declared=True)
