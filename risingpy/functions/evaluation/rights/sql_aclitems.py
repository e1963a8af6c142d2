"""aclexplode and acldefault as DuckDB SQL: aclitems are texts, `grantee=letters/grantor`, with quoted names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from risingpy.functions.evaluation.sql.text import quoted
from risingpy.plan.expressions import Call

_NAMES = "INSERT SELECT UPDATE DELETE TRUNCATE REFERENCES TRIGGER EXECUTE USAGE CREATE TEMPORARY CONNECT SET"
_WORDS = {**dict(zip("arwdDxtXUCTcs", _NAMES.split(), strict=True)), "A": "ALTER SYSTEM"}
_TABLE = f"MAP([{', '.join(map(quoted, _WORDS))}], [{', '.join(map(quoted, _WORDS.values()))}])"
_ITEM = quoted(r'^("(?:[^"]|"")*"|[^=]*)=([a-zA-Z*]*)/(.*)$')
# By the kind of object, as acldefault has them: what everybody has, and what the owner has.
_DEFAULTS = {
    "c": ("", None),
    "r": ("", "arwdDxt"),
    "s": ("", "rwU"),
    "d": ("Tc", "CTc"),
    "f": ("X", "X"),
    "l": ("U", "U"),
    "L": ("", "rw"),
    "n": ("", "UC"),
    "p": ("", "sA"),
    "t": ("", "C"),
    "F": ("", "U"),
    "S": ("", "U"),
    "T": ("U", "U"),
}


def _unquoted(text: str) -> str:
    return f"CASE WHEN {text} LIKE '\"%' THEN replace({text}[2:-2], '\"\"', '\"') ELSE {text} END"


_GRANTEE, _GRANTOR = _unquoted(f"regexp_extract(i, {_ITEM}, 1)"), _unquoted(f"regexp_extract(i, {_ITEM}, 3)")
_LETTERS = f"regexp_extract_all(regexp_extract(i, {_ITEM}, 2), '[a-zA-Z]\\*?')"
_OF_PARTS = {
    "acl_grantors": f"map_extract(m, {_GRANTOR})[1]",
    "acl_grantees": f"CASE WHEN {_GRANTEE} = '' THEN 0 ELSE map_extract(m, {_GRANTEE})[1] END",
    "acl_privileges": f"map_extract({_TABLE}, w[1])[1]",
    "acl_grantable": "w LIKE '%*'",
}


def _exploded(call: Call, args: list[str]) -> str:
    value = _OF_PARTS[call.function]
    lists = f"flatten(list_transform(a, lambda i: list_transform({_LETTERS}, lambda w: {value})))"
    roles = "(SELECT map(list(rp_role), list(rp_oid)) FROM rp_roles)"
    return f"(SELECT {lists} FROM (SELECT {args[0]} AS a, {roles} AS m) AS arguments)"


def _default(call: Call, args: list[str]) -> str:
    """`acl_default(kind, owner)`: NULL for a kind that PostgreSQL does not know."""
    owner = "coalesce((SELECT rp_name FROM rp_roles WHERE rp_oid = b), CAST(b AS VARCHAR))"
    branches = []
    for kind, (public, own) in _DEFAULTS.items():
        items = [f"concat('={public}/', o)"] if public else []
        items += [f"concat(o, '={own}/', o)"] if own else []
        branches.append(f"WHEN {quoted(kind)} THEN CAST([{', '.join(items)}] AS VARCHAR[])")
    inner = f"(SELECT a, {owner} AS o FROM (SELECT {args[0]} AS a, {args[1]} AS b) AS given)"
    return f"(SELECT CASE a {' '.join(branches)} END FROM {inner} AS arguments)"


ACLITEMS: Mapping[str, Callable[[Call, list[str]], str]] = MappingProxyType(
    {**dict.fromkeys(_OF_PARTS, _exploded), "acl_default": _default}
)
"""By canonical name: SQL of a call of arguments given as SQL."""
