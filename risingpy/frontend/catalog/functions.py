"""System functions, as the DuckDB SQL that a call is rewritten to.

`$1`, `$2` stand for the arguments (NULL where a call has fewer). The relations named rp_… are those of
`object_names.py`. What depends on the session (`version()`, `current_setting(…)`) is in `session_functions.py`.
"""

from __future__ import annotations

from functools import cache

import sqlglot
from sqlglot import exp

_TRUE = (
    "pg_type_is_visible pg_function_is_visible pg_opfamily_is_visible "
    "pg_collation_is_visible pg_opclass_is_visible pg_operator_is_visible "
    "pg_conversion_is_visible pg_statistics_obj_is_visible has_table_privilege has_schema_privilege "
    "has_database_privilege has_column_privilege has_any_column_privilege has_function_privilege "
    "has_sequence_privilege has_tablespace_privilege has_type_privilege pg_has_role"
)
_FALSE = "pg_relation_is_publishable pg_is_other_temp_schema pg_is_in_recovery pg_index_has_property"
_NULL_TEXT = (
    "obj_description shobj_description col_description pg_get_ruledef pg_get_triggerdef "
    "pg_get_statisticsobjdef_columns pg_get_serial_sequence pg_get_partkeydef pg_get_function_sqlbody "
    "inet_server_addr inet_client_addr pg_advisory_unlock_all pg_tablespace_location pg_notify "
    "pg_describe_object pg_relation_filepath"
)
_NULL_NUMBER = "pg_tablespace_size inet_server_port inet_client_port pg_stat_get_live_tuples pg_stat_get_numscans"

_NO_RELATION = "ERROR('relation \"' || $1 || '\" does not exist')"
_NO_ROWS = "ERROR('\"' || $1 || '\" is not a table or materialized view')"
_DIGEST = (
    "(SELECT rp_digest FROM rp_digests"
    " WHERE rp_text = COALESCE(rp_key('regclass', CAST($1 AS VARCHAR)), CAST($1 AS VARCHAR)))"
)
_SIZE = "(SELECT {} FROM rp_statistics WHERE rp_oid = $1)"


def _size_pretty() -> str:
    """In the largest unit of which there are at least ten, rounded to the nearest."""
    size, branches = "CAST($1 AS HUGEINT)", ["WHEN ABS({0}) < 10240 THEN CAST({0} AS VARCHAR) || ' bytes'"]
    for power, unit in enumerate(("kB", "MB", "GB", "TB", "PB"), start=1):
        half = f"({{0}} / {1024**power // 2})"  # towards zero, as everywhere here
        halves = f"TRUNC({half})"
        rounded = f"CAST(TRUNC(({halves} + SIGN({{0}})) / 2) AS HUGEINT)"
        condition = f"WHEN ABS({halves}) < 20479 THEN" if unit != "PB" else "ELSE"
        branches.append(f"{condition} CAST({rounded} AS VARCHAR) || ' {unit}'")
    return f"CASE {' '.join(branches)} END".replace("{0}", size)


_FORK = "CASE WHEN $2 IN ('fsm', 'vm', 'init') THEN 0 WHEN COALESCE($2, 'main') = 'main' THEN"

# With lengths, precisions and scales; a character without a length is called bpchar if one could be told.
_TYPMOD = "CAST($2 AS INTEGER)"
_LENGTH = f"'(' || ({_TYPMOD} - 4) || ')'"
_NUMERIC = f"'(' || (({_TYPMOD} - 4) // 65536) || ',' || (({_TYPMOD} - 4) % 65536) || ')'"
_IN_TIME = f"REGEXP_REPLACE(rp_display, '^(timestamp|time)', '\\1(' || {_TYPMOD} || ')')"
_FORMAT_TYPE = (
    "CASE WHEN $1 IS NULL THEN NULL WHEN CAST($1 AS UINTEGER) = 0 THEN '-' ELSE COALESCE((SELECT"
    f" CASE WHEN rp_oid IN (1042, 1014) AND {_TYPMOD} = -1 THEN REPLACE(rp_display, 'character', 'bpchar')"
    f" WHEN {_TYPMOD} IS NULL OR {_TYPMOD} < 0 THEN rp_display"
    f" WHEN rp_oid IN (1114, 1184, 1083, 1115, 1185, 1183) THEN {_IN_TIME}"
    f" WHEN {_TYPMOD} >= 4 AND rp_oid IN (1700, 1231) THEN REPLACE(rp_display, 'numeric', 'numeric' || {_NUMERIC})"
    f" WHEN {_TYPMOD} <= 4 THEN rp_display"
    f" WHEN rp_oid IN (1042, 1043) THEN rp_display || {_LENGTH}"
    f" WHEN rp_oid IN (1014, 1015) THEN REPLACE(rp_display, '[]', {_LENGTH} || '[]') ELSE rp_display END"
    " FROM rp_types WHERE rp_oid = CAST($1 AS UINTEGER)), '???') END"
)

_SQL = {
    **dict.fromkeys(_TRUE.split(), "TRUE"),
    **dict.fromkeys(_FALSE.split(), "FALSE"),
    **dict.fromkeys(_NULL_TEXT.split(), "CAST(NULL AS VARCHAR)"),
    **dict.fromkeys(_NULL_NUMBER.split(), "CAST(NULL AS BIGINT)"),
    "pg_table_size": _SIZE.format("rp_bytes"),
    "pg_relation_size": f"{_FORK} {_SIZE.format('rp_bytes')} ELSE CAST(ERROR('invalid fork name') AS BIGINT) END",
    "pg_indexes_size": _SIZE.format("rp_index_bytes"),
    "pg_total_relation_size": _SIZE.format("rp_bytes + rp_index_bytes"),
    "pg_database_size": "(SELECT CAST(SUM(rp_bytes) AS BIGINT) FROM rp_statistics)",
    "rw_digest": f"CASE WHEN $1 IS NULL THEN NULL WHEN NOT EXISTS {_DIGEST} THEN {_NO_RELATION} "
    f"ELSE COALESCE({_DIGEST}, {_NO_ROWS}) END",
    "pg_table_is_visible": "(SELECT rp_visible FROM rp_objects WHERE rp_oid = $1)",
    "pg_get_userbyid": "'root'",
    "pg_get_expr": "CAST($1 AS VARCHAR)",
    "pg_get_viewdef": "(SELECT rp_definition FROM rp_objects WHERE rp_oid = $1)",
    "pg_get_constraintdef": "(SELECT rp_definition FROM rp_objects WHERE rp_oid = $1)",
    "pg_get_indexdef": "CASE WHEN COALESCE(CAST($2 AS INTEGER), 0) = 0"
    " THEN (SELECT rp_definition FROM rp_objects WHERE rp_oid = $1)"
    " ELSE (SELECT rp_column FROM rp_columns WHERE rp_owner = $1 AND rp_number = CAST($2 AS INTEGER)) END",
    "pg_get_function_result": "(SELECT rp_result FROM rp_functions WHERE rp_oid = $1)",
    "pg_get_function_arguments": "(SELECT rp_arguments FROM rp_functions WHERE rp_oid = $1)",
    "pg_get_functiondef": "(SELECT rp_definition FROM rp_functions WHERE rp_oid = $1)",
    "pg_get_function_identity_arguments": "(SELECT rp_arguments FROM rp_functions WHERE rp_oid = $1)",
    "format_type": _FORMAT_TYPE,
    "pg_encoding_to_char": "'UTF8'",
    "pg_char_to_encoding": "6",
    "pg_client_encoding": "'UTF8'",
    "pg_size_pretty": _size_pretty(),
    "pg_my_temp_schema": "CAST(0 AS UINTEGER)",
    "txid_current": "CAST(0 AS BIGINT)",
    "quote_ident": "CASE WHEN REGEXP_FULL_MATCH($1, '[a-z_][a-z0-9_]*') THEN $1 "
    "ELSE '\"' || REPLACE($1, '\"', '\"\"') || '\"' END",
    "quote_literal": "'''' || REPLACE(CAST($1 AS VARCHAR), '''', '''''') || ''''",
    "array_upper": "NULLIF(LEN($1), 0)",
    "array_lower": "CASE WHEN LEN($1) > 0 THEN 1 END",
    "cardinality": "LEN($1)",
    "octet_length": "OCTET_LENGTH(ENCODE(CAST($1 AS VARCHAR)))",
    "_pg_expandarray": "UNNEST(LIST_TRANSFORM($1, LAMBDA rp_x, rp_n: STRUCT_PACK(x := rp_x, n := rp_n)))",
    "generate_subscripts": "UNNEST(RANGE(1, LEN($1) + 1))",
    "pg_partition_ancestors": "UNNEST(CAST([] AS UINTEGER[]))",
}

# Functions of PostgreSQL's that DuckDB has too, or that are not the system's alone: they make no system query.
_COMMON = frozenset(
    (
        *("quote_ident", "quote_literal", "array_upper", "array_lower", "cardinality", "generate_subscripts"),
        *("octet_length", "_pg_expandarray"),
    )
)
# By a text, a lookup that gives NULL where the cast to the type raises an error.
LOOKUP_FUNCTIONS = {
    f"to_{kind}": kind for kind in ("regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole")
}
# Their first argument is a regclass: a text names the relation.
OF_REGCLASS = frozenset(
    ("pg_table_size", "pg_relation_size", "pg_indexes_size", "pg_total_relation_size", "pg_get_viewdef")
)
SYSTEM_FUNCTIONS = (frozenset(_SQL) - _COMMON) | frozenset(LOOKUP_FUNCTIONS)

SETTING = "(SELECT rp_value FROM rp_settings WHERE rp_setting = LOWER($1))"

# Functions in FROM, as the relation that stands for them.
TABLE_FUNCTIONS = {
    "pg_partition_ancestors": "SELECT CAST(NULL AS UINTEGER) AS relid, CAST(NULL AS BIGINT) AS depth WHERE FALSE",
    "pg_options_to_table": "SELECT '' AS option_name, '' AS option_value WHERE FALSE",
    "pg_get_keywords": "SELECT '' AS word, '' AS catcode, '' AS catdesc WHERE FALSE",
    "pg_get_publication_tables": "SELECT CAST(NULL AS UINTEGER) AS relid WHERE FALSE",
}


def call_sql(name: str) -> str | None:
    """The template of a function, or None if it is no function of ours."""
    return _SQL.get(name)


@cache
def _parsed(template: str) -> exp.Expr:
    return sqlglot.parse_one(template, read="duckdb")


def instantiate(template: str, arguments: list[exp.Expr]) -> exp.Expr:
    """The template with its `$n` replaced by the arguments."""

    def fill(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Parameter | exp.Placeholder):
            index = int(node.name) - 1
            return exp.paren(arguments[index].copy()) if index < len(arguments) else exp.null()
        return node

    return _parsed(template).copy().transform(fill, copy=False)
