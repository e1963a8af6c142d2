"""Functions that need the catalog or the session, as DuckDB SQL over relations called `rp_…`.

The caller runs the SQL with these relations as of the statement's snapshot (`names_in` finds their names), so nothing
here is global. Their columns also begin with `rp_`, so that no column of a query can be mistaken for one. Each template
uses an argument once: `arguments` makes columns of arguments that are used again. NULL gives NULL unless stated
otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from risingpy.functions.evaluation.rights.sql_aclitems import ACLITEMS
from risingpy.functions.evaluation.rights.sql_privileges import PRIVILEGES
from risingpy.functions.evaluation.sql.text import own_call, quoted, raised
from risingpy.plan.expressions import Call
from risingpy.types import BIGINT, VARCHAR

_NAME = re.compile(r"\brp_[a-z_]+\b")

_DEFINITION = "(SELECT rp_definition FROM rp_objects WHERE rp_oid = {0})"
_SIZE = "(SELECT {column} FROM rp_statistics WHERE rp_oid = {{0}})"
# Where regproc and regprocedure find the text of a function: the shortest that means it.
_FUNCTION_TEXT = (
    "(SELECT rp_text FROM rp_function_spellings WHERE rp_named = a AND {} ORDER BY length(rp_text) LIMIT 1)"
)
_NAMES = {
    "regclass": "(SELECT rp_name FROM rp_objects WHERE rp_oid = a AND NOT rp_is_constraint)",
    "regtype": "(SELECT rp_display FROM rp_types WHERE rp_oid = a)",
    "regproc": _FUNCTION_TEXT.format("NOT rp_with_types"),
    "regprocedure": _FUNCTION_TEXT.format("rp_with_types"),
    "regnamespace": "(SELECT rp_name FROM rp_schemas WHERE rp_oid = a)",
    "regrole": "(SELECT rp_name FROM rp_roles WHERE rp_oid = a)",
}
_FOUND = {
    "regclass": "(SELECT rp_named FROM rp_spellings WHERE rp_text = k)",
    "regtype": "(SELECT rp_named FROM rp_type_spellings WHERE rp_text = k)",
    "regproc": "(SELECT CASE count(*) WHEN 1 THEN max(rp_named) WHEN 0 THEN NULL ELSE {ambiguous} END"
    " FROM rp_function_spellings WHERE rp_text = k)",
    "regprocedure": "(SELECT min(rp_named) FROM rp_function_spellings WHERE rp_text = k)",
    "regnamespace": "(SELECT rp_oid FROM rp_schemas WHERE rp_name = k)",
    "regrole": "(SELECT rp_oid FROM rp_roles WHERE rp_name = k)",
}

# With lengths, precisions and scales; a character without a length is called bpchar if one could be told.
_LENGTH = "'(' || (b - 4) || ')'"
_FORMAT_TYPE = (
    "CASE WHEN a = 0 THEN '-' WHEN a IS NOT NULL THEN coalesce((SELECT"
    " CASE WHEN rp_oid IN (1042, 1014) AND b = -1 THEN replace(rp_display, 'character', 'bpchar')"
    " WHEN rp_oid IN (1560, 1561) AND b = -1 THEN replace(rp_display, 'bit', '\"bit\"')"
    " WHEN b IS NULL OR b < 0 THEN rp_display"
    " WHEN rp_oid IN (1114, 1184, 1083, 1115, 1185, 1183)"
    " THEN regexp_replace(rp_display, '^(timestamp|time)', '\\1(' || b || ')')"
    " WHEN rp_oid IN (1186, 1187)"  # the lower half is the precision, the upper one says which fields there are
    " THEN CASE WHEN b % 65536 = 65535 THEN rp_display"
    " ELSE replace(rp_display, 'interval', 'interval(' || (b % 65536) || ')') END"
    " WHEN b >= 4 AND rp_oid IN (1700, 1231)"
    " THEN replace(rp_display, 'numeric', 'numeric(' || ((b - 4) // 65536) || ',' || ((b - 4) % 65536) || ')')"
    " WHEN b > 0 AND regexp_full_match(rp_display, '(bit|bit varying|vector)(\\[\\])?')"
    " THEN regexp_replace(rp_display, '^([a-z ]+)', '\\1(' || b || ')')"
    " WHEN b <= 4 THEN rp_display"
    f" WHEN rp_oid IN (1042, 1043) THEN rp_display || {_LENGTH}"
    f" WHEN rp_oid IN (1014, 1015) THEN replace(rp_display, '[]', {_LENGTH} || '[]')"
    " ELSE rp_display END FROM rp_types WHERE rp_oid = a), '???') END"
)


def _size_pretty() -> str:
    """pg_size_pretty: the size in the largest unit of which there are at least ten, rounded to the nearest."""
    branches = ["WHEN abs(a) < 10240 THEN CAST(a AS VARCHAR) || ' bytes'"]
    for power, unit in enumerate(("kB", "MB", "GB", "TB", "PB"), start=1):
        halves = f"trunc(a / {1024**power // 2})"  # towards zero, as everywhere here
        rounded = f"CAST(trunc(({halves} + sign(a)) / 2) AS HUGEINT)"
        condition = f"WHEN abs({halves}) < 20479 THEN" if unit != "PB" else "ELSE"
        branches.append(f"{condition} CAST({rounded} AS VARCHAR) || ' {unit}'")
    return f"CASE WHEN a IS NOT NULL THEN CASE {' '.join(branches)} END END"


def arguments(body: str, *args: str) -> str:
    """`body`, in which a, b, … are the arguments."""
    columns = ", ".join(f"{arg} AS {name}" for name, arg in zip("abcd", args, strict=False))
    return f"(SELECT {body} FROM (SELECT {columns}) AS arguments)"


def _template(text: str) -> Callable[[Call, list[str]], str]:
    return lambda call, args: text.format(*args)


def _body(text: str, *defaults: str) -> Callable[[Call, list[str]], str]:
    """A function whose template calls its arguments a, b, …; `defaults` are those that may be missing."""
    return lambda call, args: arguments(text, *args, *defaults[len(args) - 1 :])


def _name(call: Call, args: list[str]) -> str:
    """`regclass_text(oid)`: the name; '-' for 0; the number for an oid that no object has."""
    kind = call.function.removesuffix("_text")
    return arguments(
        f"CASE WHEN a = 0 THEN '-' WHEN a IS NOT NULL THEN coalesce({_NAMES[kind]}, CAST(a AS VARCHAR)) END", args[0]
    )


def _names(call: Call, args: list[str]) -> str:
    """`regclass_texts(oids)`: the names in the array's order. No lambda may have a subquery in it, hence the rows."""
    kind = call.function.removesuffix("_texts")
    name = f"CASE WHEN a = 0 THEN '-' WHEN a IS NOT NULL THEN coalesce({_NAMES[kind]}, CAST(a AS VARCHAR)) END"
    return _of_each(name, args[0])


def _oids(call: Call, args: list[str]) -> str:
    """`regclass_list_of(texts, database, schemas)`: the oids of what an array of texts names."""
    return _of_each(_looked_up(call.function.removesuffix("_list_of"), "a", args[1], args[2]), args[0])


def _of_each(element: str, listed: str) -> str:
    """The list of what becomes of each element a of a list."""
    rows = "(SELECT unnest(v) AS a, generate_subscripts(v, 1) AS n) AS elements"
    made = f"(SELECT list(e ORDER BY n) FROM (SELECT {element} AS e, n FROM {rows}) AS computed)"
    return f"(SELECT CASE WHEN v IS NOT NULL THEN coalesce({made}, []) END FROM (SELECT {listed} AS v) AS given)"


def _oid(call: Call, args: list[str]) -> str:
    """`regclass_of(text, database, schemas)`: the oid of the object that the text names, or the number in the text."""
    return _looked_up(call.function.removesuffix("_of"), args[0], args[1], args[2])


def _oid_or_null(call: Call, args: list[str]) -> str:
    """`to_regclass(text, database)`: likewise, but NULL if no object has the name."""
    return _looked_up(call.function.removeprefix("to_"), args[0], args[1], None)


def _looked_up(kind: str, text: str, database: str, schemas: str | None) -> str:
    shown, each_time = quoted(kind), "random()"
    key = own_call("object_key", [shown, "t", database], VARCHAR)
    if schemas is None:
        otherwise, numbers = own_call("object_allowed", [shown, "t", database, each_time], BIGINT), ""
    else:
        otherwise = own_call("object_refused", [shown, "t", database, schemas, each_time], BIGINT)
        numbers = "WHEN regexp_full_match(t, '[0-9]+') THEN CAST(t AS BIGINT) WHEN t = '-' THEN 0 "
    several = raised("42725", "'more than one function named \"' || k || '\"'", BIGINT)
    found = _FOUND[kind].format(ambiguous=several)
    return (
        f"(SELECT CASE WHEN t IS NULL THEN NULL {numbers}WHEN n IS NOT NULL THEN n ELSE {otherwise} END"
        f" FROM (SELECT t, {found} AS n FROM (SELECT t, {key} AS k FROM (SELECT {text} AS t) AS r) AS s) AS u)"
    )


_NOT_IN_RECOVERY = "'recovery is not in progress' || CASE WHEN random() < 0 THEN ' ' ELSE '' END"  # each time anew
_COMMENTS = "FROM rp_comments WHERE rp_described = a"


def _described(call: Call, args: list[str]) -> str:
    """Without the name of a catalog, the comment on whichever object has the oid."""
    of_catalog = " AND rp_catalog = b" if len(args) == 2 else ""
    found = f"(SELECT min(rp_comment) {_COMMENTS} AND rp_subid = 0 AND NOT rp_shared{of_catalog})"
    return arguments(found, *args)


_DIGEST = (
    "(SELECT rp_digest FROM rp_digests"
    f" WHERE rp_text = coalesce({own_call('object_key', [quoted('regclass'), 'a', 'b'], VARCHAR)}, a))"
)
_FORK = "CASE WHEN b IN ('fsm', 'vm', 'init') THEN 0 WHEN b = 'main' THEN"
_BYTES = "(SELECT rp_bytes FROM rp_statistics WHERE rp_oid = a)"

CATALOG: dict[str, Callable[[Call, list[str]], str]] = {
    **PRIVILEGES,
    **ACLITEMS,
    **dict.fromkeys((f"{kind}_text" for kind in _NAMES), _name),
    **dict.fromkeys((f"{kind}_texts" for kind in _NAMES), _names),
    **dict.fromkeys((f"{kind}_of" for kind in _FOUND), _oid),
    **dict.fromkeys((f"{kind}_list_of" for kind in _FOUND), _oids),
    **dict.fromkeys((f"to_{kind}" for kind in _FOUND), _oid_or_null),
    "format_type": _body(_FORMAT_TYPE, "NULL"),
    "pg_table_is_visible": _template("(SELECT rp_visible FROM rp_objects WHERE rp_oid = {0})"),
    "pg_get_definition": _template(_DEFINITION),
    "pg_get_viewdef": _template("(SELECT rp_definition FROM rp_view_texts WHERE rp_oid = {0})"),
    "pg_get_viewdef_pretty": _body(
        "CASE WHEN b THEN (SELECT rp_definition FROM rp_pretty_view_texts WHERE rp_oid = a)"
        " WHEN NOT b THEN (SELECT rp_definition FROM rp_view_texts WHERE rp_oid = a) END"
    ),
    "pg_get_viewdef_wrapped": _body(
        "CASE WHEN b IS NOT NULL THEN (SELECT rp_definition FROM rp_pretty_view_texts WHERE rp_oid = a) END"
    ),
    "pg_get_expr_pretty": _body(
        "CASE WHEN c THEN coalesce((SELECT min(rp_pretty) FROM rp_pretty_texts WHERE rp_owner = b AND rp_plain = a), a)"
        " WHEN NOT c THEN a END"
    ),
    "obj_description": _described,
    "shobj_description": _body(f"(SELECT rp_comment {_COMMENTS} AND rp_shared AND rp_catalog = b)"),
    "col_description": _body(f"(SELECT rp_comment {_COMMENTS} AND rp_catalog = 'pg_class' AND rp_subid = b)"),
    "pg_get_shown_definition": _body(
        "CASE WHEN b IS NOT NULL THEN"
        " (SELECT CASE WHEN b THEN rp_pretty ELSE rp_definition END FROM rp_objects WHERE rp_oid = a) END"
    ),
    "pg_get_indexdef_column": _body(
        "CASE WHEN b = 0 THEN"
        " (SELECT CASE WHEN c THEN rp_pretty ELSE rp_definition END FROM rp_objects WHERE rp_oid = a)"
        " ELSE (SELECT CASE WHEN c THEN rp_pretty_column ELSE rp_column END"
        " FROM rp_columns WHERE rp_owner = a AND rp_number = b) END"
    ),
    "pg_get_function_result": _template("(SELECT rp_result FROM rp_functions WHERE rp_oid = {0})"),
    "pg_get_function_arguments": _template("(SELECT rp_arguments FROM rp_functions WHERE rp_oid = {0})"),
    "pg_get_function_identity_arguments": _template("(SELECT rp_identity FROM rp_functions WHERE rp_oid = {0})"),
    "pg_get_functiondef": _template("(SELECT rp_definition FROM rp_functions WHERE rp_oid = {0})"),
    "pg_table_size": _template(_SIZE.format(column="rp_bytes")),
    "pg_indexes_size": _template(_SIZE.format(column="rp_index_bytes")),
    "pg_total_relation_size": _template(_SIZE.format(column="rp_bytes + rp_index_bytes")),
    "pg_relation_size": _body(
        f"{_FORK} {_BYTES} WHEN b IS NOT NULL THEN {own_call('fork_refused', ['b', 'random()'], BIGINT)} END",
        "'main'",
    ),
    "pg_database_size": lambda call, args: "(SELECT CAST(sum(rp_bytes) AS BIGINT) FROM rp_statistics)",
    "pg_get_userbyid": _body(
        "CASE WHEN a IS NOT NULL THEN coalesce((SELECT rp_role FROM rp_roles WHERE rp_oid = a),"
        " 'unknown (OID=' || a || ')') END"
    ),
    "pg_size_pretty": _body(_size_pretty()),
    "rw_digest": _body(
        "CASE WHEN a IS NULL THEN NULL"
        f" ELSE coalesce({_DIGEST}, {own_call('digest_refused', ['a', f'EXISTS {_DIGEST}', 'random()'], VARCHAR)}) END"
    ),
    "not_in_recovery": lambda call, args: raised("55000", _NOT_IN_RECOVERY, call.type),
    "setting_value": _template("(SELECT rp_value FROM rp_settings WHERE rp_setting = lower({0}))"),
    "vector_text": _template("array_to_string({0}, ' ')"),
    "vector_subscripts": _template("CAST(range(0, len({0})) AS INTEGER[])"),
    "vector_lower": _template("CASE WHEN len({0}) > 0 THEN 0 END"),
    "vector_upper": _template("CAST(len({0}) - 1 AS INTEGER)"),
    "vector_position": _template("CAST(list_position({0}, {1}) - 1 AS INTEGER)"),
}
"""By canonical name: SQL of a call of arguments given as SQL."""


def names_in(sql: str) -> frozenset[str]:
    """The names that begin with `rp_` in the SQL, those of relations among them."""
    return frozenset(_NAME.findall(sql))
