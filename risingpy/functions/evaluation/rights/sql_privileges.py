"""has_table_privilege and its like, as DuckDB SQL over `rp_acls`, `rp_memberships` and `rp_superusers`.

The calls that the binder makes have a role's oid, an object's oid, and bits: a privilege's, and 16 places further left
the right to grant it. One of the bits is enough. NULL gives NULL, and so does an object that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from risingpy.functions.evaluation.sql.text import quoted, raised
from risingpy.plan.expressions import Call, Literal
from risingpy.types import BIGINT, SMALLINT

_GRANTABLE = 16
_OF_RELATION = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")
_BITS = {
    "INSERT": 1,
    "SELECT": 2,
    "UPDATE": 4,
    "DELETE": 8,
    "TRUNCATE": 16,
    "REFERENCES": 32,
    "TRIGGER": 64,
    "EXECUTE": 128,
    "USAGE": 256,
    "CREATE": 512,
    "TEMPORARY": 1024,
    "TEMP": 1024,
    "CONNECT": 2048,
    "SET": 4096,
    "ALTER SYSTEM": 8192,
}
_WORDS = {
    "r": _OF_RELATION,
    "c": ("SELECT", "INSERT", "UPDATE", "REFERENCES"),
    "n": ("CREATE", "USAGE"),
    "d": ("CREATE", "TEMPORARY", "TEMP", "CONNECT"),
    "f": ("EXECUTE",),
    "type": ("USAGE",),
    "language": ("USAGE",),
    "tablespace": ("CREATE",),
    "parameter": ("SET", "ALTER SYSTEM"),
    "sequence": ("USAGE", "SELECT", "UPDATE"),
    "server": ("USAGE",),
    "foreign-data wrapper": ("USAGE",),
}


def _with_options(words: tuple[str, ...]) -> dict[str, int]:
    plain = {word: _BITS[word] for word in words}
    return {**plain, **{f"{word} WITH GRANT OPTION": bits << _GRANTABLE for word, bits in plain.items()}}


PRIVILEGE_WORDS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        **{kind: _with_options(words) for kind, words in _WORDS.items()},
        "role": {
            "USAGE": 1,
            "MEMBER": 2,
            **dict.fromkeys((f"{a} WITH {b} OPTION" for a in ("USAGE", "MEMBER") for b in ("GRANT", "ADMIN")), 4),
        },
    }
)
"""The bits of each privilege that a text may name, by the kind of object."""

_IS_SUPERUSER = "EXISTS (SELECT 1 FROM rp_superusers WHERE rp_super = a)"
_HELD = (
    "(SELECT bit_or(rp_bits) FROM rp_acls JOIN rp_memberships ON rp_grantee = rp_of AND rp_how & 1 = 1"
    " WHERE rp_member = a AND rp_object = b AND {which})"
)
_OF_NOBODY = "(SELECT bit_or(rp_bits) FROM rp_acls WHERE rp_grantee = 0 AND rp_object = b AND {which})"


def _holds(which: str) -> str:
    held = f"coalesce({_HELD.format(which=which)}, {_OF_NOBODY.format(which=which)}, 0)"
    return f"({_IS_SUPERUSER} OR {held} & c <> 0)"


def _arguments(body: str, args: list[str]) -> str:
    columns = ", ".join(f"{arg} AS {name}" for name, arg in zip("abcd", args, strict=False))
    return f"(SELECT {body} FROM (SELECT {columns}) AS arguments)"


def _has(call: Call, args: list[str]) -> str:
    """`has_privilege_n(role, object, bits)`; what follows the last underscore is the kind of object."""
    kind = quoted(call.function.removeprefix("has_privilege_"))
    exists = f"EXISTS (SELECT 1 FROM rp_acls WHERE rp_object = b AND rp_kind = {kind})"
    nothing = f"a IS NULL OR b IS NULL OR c IS NULL OR NOT {exists}"
    return _arguments(f"CASE WHEN {nothing} THEN NULL ELSE {_holds(f'rp_kind = {kind}')} END", args)


def _has_on_column(call: Call, args: list[str]) -> str:
    """`has_privilege_on_column(role, table, bits, number)`: on the table, or on the column."""
    exists = "EXISTS (SELECT 1 FROM rp_attributes WHERE rp_table = b AND rp_attnum = d)"
    nothing = f"a IS NULL OR b IS NULL OR c IS NULL OR d IS NULL OR NOT {exists}"
    return _arguments(
        f"CASE WHEN {nothing} THEN NULL ELSE {_holds(_KIND_RELATION)} OR {_holds('rp_column = d')} END",
        args,
    )


def _has_on_any_column(call: Call, args: list[str]) -> str:
    """`has_privilege_on_any_column(role, table, bits)`."""
    exists = "EXISTS (SELECT 1 FROM rp_attributes WHERE rp_table = b)"
    nothing = f"a IS NULL OR b IS NULL OR c IS NULL OR NOT {exists}"
    return _arguments(
        f"CASE WHEN {nothing} THEN NULL ELSE {_holds(_KIND_RELATION)} OR {_holds(_KIND_COLUMN)} END", args
    )


_KIND_RELATION, _KIND_COLUMN = "rp_kind = 'r'", "rp_kind = 'c'"


def _has_on_parameter(call: Call, args: list[str]) -> str:
    """`has_privilege_on_parameter(role, name, bits)`: false of one that nobody was granted."""
    oid = "(SELECT rp_named FROM rp_named_objects WHERE rp_named_kind = 'parameter' AND rp_named_name = lower(b))"
    inner = f"(SELECT a, coalesce({oid}, 0) AS b, c, b IS NULL AS unnamed FROM (SELECT {{columns}}) AS given)"
    columns = ", ".join(f"{arg} AS {name}" for name, arg in zip("abc", args, strict=True))
    nothing, held = "a IS NULL OR unnamed OR c IS NULL", _holds("rp_kind = 'parameter'")
    return f"(SELECT CASE WHEN {nothing} THEN NULL ELSE {held} END FROM {inner.format(columns=columns)} AS arguments)"


def _has_role(call: Call, args: list[str]) -> str:
    """`has_role_bits(member, role, bits)`."""
    held = "(SELECT bit_or(rp_how) FROM rp_memberships WHERE rp_member = a AND rp_of = b)"
    nothing = "a IS NULL OR b IS NULL OR c IS NULL"
    return _arguments(f"CASE WHEN {nothing} THEN NULL ELSE {_IS_SUPERUSER} OR coalesce({held}, 0) & c <> 0 END", args)


def _bits(call: Call, args: list[str]) -> str:
    """`privilege_bits(kind, text)`: of a list with commas. Raises 22023 for what the kind does not have."""
    kind = call.args[0]
    assert isinstance(kind, Literal) and isinstance(kind.value, str)
    known = PRIVILEGE_WORDS[kind.value]
    keys, values = ", ".join(map(quoted, known)), ", ".join(map(str, known.values()))
    words = "list_transform(string_split(upper(a), ','), lambda w: trim(w))"
    table = f"MAP([{keys}], [{values}])"
    unknown = f"list_filter(string_split(a, ','), lambda w: len(map_extract({table}, upper(trim(w)))) = 0)"
    fails = raised("22023", f"concat('unrecognized privilege type: \"', trim({unknown}[1]), '\"')", BIGINT)
    bits = f"CAST(list_aggregate(list_transform({words}, lambda w: map_extract({table}, w)[1]), 'bit_or') AS BIGINT)"
    return _arguments(f"CASE WHEN a IS NULL THEN NULL WHEN len({unknown}) > 0 THEN {fails} ELSE {bits} END", args[1:])


def _column_number(call: Call, args: list[str]) -> str:
    """`attnum_of(table, name)`: the number of a column. Raises 42703; NULL for a table that is not there."""
    missing = raised(
        "42703",
        "concat('column \"', b, '\" of relation \"', (SELECT rp_name FROM rp_objects WHERE rp_oid = a),"
        " '\" does not exist')",
        SMALLINT,
    )
    found = "(SELECT rp_attnum FROM rp_attributes WHERE rp_table = a AND rp_attname = b)"
    exists = "EXISTS (SELECT 1 FROM rp_attributes WHERE rp_table = a)"
    return _arguments(f"CASE WHEN b IS NULL OR NOT {exists} THEN NULL ELSE coalesce({found}, {missing}) END", args)


def _database(call: Call, args: list[str]) -> str:
    """`database_of(name)`. Raises 3D000."""
    missing = raised("3D000", "concat('database \"', a, '\" does not exist')", BIGINT)
    found = "(SELECT rp_database FROM rp_databases WHERE rp_datname = a)"
    return _arguments(f"CASE WHEN a IS NULL THEN NULL ELSE coalesce({found}, {missing}) END", args)


def _named(call: Call, args: list[str]) -> str:
    """`oid_of_named(kind, name)`: of a language, a tablespace and other things without a schema. Raises 42704."""
    kind = call.args[0]
    assert isinstance(kind, Literal) and isinstance(kind.value, str)
    missing = raised("42704", f"concat({quoted(kind.value)}, ' \"', a, '\" does not exist')", BIGINT)
    found = f"(SELECT rp_named FROM rp_named_objects WHERE rp_named_kind = {quoted(kind.value)} AND rp_named_name = a)"
    return _arguments(f"CASE WHEN a IS NULL THEN NULL ELSE coalesce({found}, {missing}) END", args[1:])


def _sequence(call: Call, args: list[str]) -> str:
    """`sequence_of(relation)`: NULL for what is not there. Raises 42809 for what is no sequence."""
    name = "(SELECT rp_name FROM rp_objects WHERE rp_oid = a)"
    other = raised("42809", f"concat('\"', {name}, '\" is not a sequence')", BIGINT)
    exists = "EXISTS (SELECT 1 FROM rp_objects WHERE rp_oid = a)"
    is_one = "EXISTS (SELECT 1 FROM rp_acls WHERE rp_object = a AND rp_kind = 'sequence')"
    return _arguments(f"CASE WHEN a IS NULL OR NOT {exists} THEN NULL WHEN {is_one} THEN a ELSE {other} END", args)


def _role(call: Call, args: list[str]) -> str:
    """`role_of(name)`: 0 for public. Raises 42704."""
    missing = raised("42704", "concat('role \"', a, '\" does not exist')", BIGINT)
    found = "CASE WHEN a = 'public' THEN 0 ELSE (SELECT rp_oid FROM rp_roles WHERE rp_role = a) END"
    return _arguments(f"CASE WHEN a IS NULL THEN NULL ELSE coalesce({found}, {missing}) END", args)


PRIVILEGES: Mapping[str, Callable[[Call, list[str]], str]] = MappingProxyType(
    {
        **dict.fromkeys((f"has_privilege_{kind}" for kind in _WORDS), _has),
        "has_privilege_on_column": _has_on_column,
        "has_privilege_on_any_column": _has_on_any_column,
        "has_privilege_on_parameter": _has_on_parameter,
        "has_role_bits": _has_role,
        "privilege_bits": _bits,
        "attnum_of": _column_number,
        "database_of": _database,
        "oid_of_named": _named,
        "sequence_of": _sequence,
        "role_of": _role,
    }
)
"""By canonical name: SQL of a call of arguments given as SQL."""
