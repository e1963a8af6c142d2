"""Rewrites a system query from PostgreSQL's SQL to DuckDB's, over the relations of this package.

    SELECT c.oid::regclass FROM pg_class c WHERE pg_table_is_visible(c.oid)
    =>
    SELECT COALESCE((SELECT rp_name FROM rp_objects WHERE rp_oid = c.oid), …)
    FROM "pg_catalog.pg_class" AS c WHERE (SELECT rp_visible FROM rp_objects WHERE rp_oid = c.oid)

Functions become the SQL of `functions.py`, session functions constants, object identifier types lookups,
parameters values. Only relations and table functions that are known here may be read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from risingpy.errors import FeatureNotSupported, SyntaxError_, UndefinedTable
from risingpy.frontend.catalog import functions
from risingpy.frontend.catalog.column_types import names_with_types, type_of
from risingpy.frontend.catalog.object_identifiers import KINDS, name_sql, object_identifier, oid_sql
from risingpy.frontend.catalog.object_texts import type_key
from risingpy.frontend.catalog.oids import system_relation_oid
from risingpy.frontend.catalog.parameters import parameter_type
from risingpy.frontend.catalog.patterns import array_of_text, is_quantified, pattern_match
from risingpy.frontend.catalog.plain_text import plain_text
from risingpy.frontend.catalog.registry import INTERNAL_RELATIONS, find_system_relation
from risingpy.frontend.catalog.session_functions import (
    SESSION_FUNCTIONS,
    SessionFacts,
    arguments_of,
    evaluate,
    function_name,
)
from risingpy.frontend.catalog.system_relation import SystemRelation, SystemType
from risingpy.frontend.catalog.vectors import vector_form

_ARRAY_TEXT = re.compile(r"\{(-?\d+(,-?\d+)*)?\}")
_OID = "oid"  # of a table's node: the system relation's
_OIDS = (SystemType.OID, SystemType.REGPROC)
_WRITTEN = "written"  # of a call's node: the function's name as it is in the query
# What has a syntax of its own, as PostgreSQL calls it.
_FORMS: dict[type[exp.Expr], str] = {
    exp.StrPosition: "position",
    exp.Substring: "substring",
    exp.Extract: "extract",
    exp.Overlay: "overlay",
    exp.Trim: "btrim",
}
_TEXT_TYPES = ("name", "text", "char", "bpchar", "sql_identifier", "character_data", "yes_or_no", "cstring")
_NUMBER_TYPES = {"oid": "UINTEGER", "xid": "UINTEGER", "cardinal_number": "INTEGER", "int2vector": "SMALLINT[]"}
_LISTS = {"_oid": "UINTEGER[]", "oidvector": "UINTEGER[]", "_text": "VARCHAR[]", "_name": "VARCHAR[]"}


@dataclass(slots=True)
class Rewritten:
    """DuckDB's SQL and what it reads. `names` and `types`, of columns that are plain columns, are None with a star."""

    sql: str
    relations: dict[str, SystemRelation] = field(default_factory=dict)
    names: tuple[str, ...] | None = None
    types: tuple[SystemType | None, ...] | None = None


def parse_system_query(sql: str) -> exp.Query:
    """The tree of a system query. Raises SyntaxError_."""
    text = plain_text(sql)
    try:
        tree = sqlglot.parse_one(text, read="postgres")
    except ParseError as error:
        near = error.errors[0].get("highlight") if error.errors else None
        where = f'syntax error at or near "{near}"' if near else "syntax error at end of input"
        raise SyntaxError_(where) from None
    if isinstance(tree, exp.Values):
        tree = exp.select("*").from_(tree)
    if not isinstance(tree, exp.Query):
        raise FeatureNotSupported("only queries can read system relations")
    for call in tree.find_all(exp.Func):
        if "start" in call.meta and not isinstance(call, exp.Cast):
            call.meta[_WRITTEN] = text[call.meta["start"] : call.meta["end"] + 1].strip('"').lower()
    for identifier in tree.find_all(exp.Identifier):
        if not identifier.args.get("quoted"):
            identifier.set("this", identifier.name.lower())
    return tree


def rewrite(
    tree: exp.Query,
    session: SessionFacts,
    parameters: Sequence[object] | None,
    parameter_oids: Sequence[int],
    *,
    execute: bool,
) -> Rewritten:
    """DuckDB's form of `tree`, which is left as it is. Without `parameters` they are NULLs of their types."""
    tree = tree.copy()
    types = names_with_types(tree)
    rewritten = Rewritten("", names=_output_names(tree))
    if rewritten.names is not None:
        rewritten.types = tuple(type_of(item.unalias(), types) for item in tree.selects)
    _replace_parameters(tree, parameters, parameter_oids)
    _replace_relations(tree, rewritten)
    # From the leaves up, so that a call's arguments are done before the call.
    for node in reversed(list(tree.walk(bfs=True))):
        replacement = _replacement(node, session, types, execute=execute)
        if replacement is not node:
            node.replace(replacement)
    for table in tree.find_all(exp.Table):
        internal = INTERNAL_RELATIONS.get(table.name)
        if internal is not None:
            rewritten.relations[table.name] = internal
    rewritten.sql = tree.sql(dialect="duckdb")
    return rewritten


def _output_names(tree: exp.Query) -> tuple[str, ...] | None:
    if not isinstance(tree, exp.Select | exp.SetOperation | exp.Subquery):
        return None
    selects = tree.selects
    if any(isinstance(item, exp.Star) or item.find(exp.Star) is item or item.is_star for item in selects):
        return None
    return tuple(_output_name(item) for item in selects)


def _output_name(item: exp.Expr) -> str:
    """As PostgreSQL names a column without alias: by its column, function or type, else `?column?`."""
    match item:
        case exp.Alias() | exp.Column():
            return str(item.alias_or_name)
        case exp.Cast():
            inner = item.this
            while isinstance(inner, exp.Cast | exp.Paren):
                inner = inner.this
            name = _output_name(inner)
            return _cast_name(item.to) if name in ("?column?", "case") else name
        case exp.Dot():
            return str(item.expression.name)
        case exp.Paren() | exp.Bracket() | exp.Filter() | exp.Window() | exp.Collate():
            return _output_name(item.this)
        case exp.Case():
            return "case"
        case exp.Exists():
            return "exists"
        case exp.Array():
            return "array"
        case exp.Subquery():
            names = _output_names(item.this)
            return names[0] if names else "?column?"
        case exp.Func() if not isinstance(item, exp.Connector):
            written = item.meta.get(_WRITTEN) or _FORMS.get(type(item))
            return function_name(item) or written or str(item.sql_name()).lower()
        case _:
            return "?column?"


def _cast_name(to: exp.Expr) -> str:
    name = _type_name(to)
    return (type_key(name) or name).removeprefix("_")


def _replace_parameters(tree: exp.Query, parameters: Sequence[object] | None, parameter_oids: Sequence[int]) -> None:
    for node in list(tree.find_all(exp.Parameter)):
        index = int(node.name) - 1
        if parameters is None:
            literal: exp.Expr = exp.null()
        else:
            literal = _literal(parameters[index])
        written = node.parent if isinstance(node.parent, exp.Cast) else None
        if written is None or isinstance(literal, exp.Null):
            declared = parameter_type(node, parameter_oids)
            literal = exp.cast(literal, exp.DataType.build(declared.duckdb, dialect="duckdb"))
        node.replace(literal)


def _literal(value: object) -> exp.Expr:
    if isinstance(value, list | tuple):
        return exp.Array(expressions=[_literal(item) for item in value])
    return exp.convert(value)


def _replace_relations(tree: exp.Query, rewritten: Rewritten) -> None:
    ctes = {cte.alias for cte in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        if isinstance(table.this, exp.Func):
            _replace_table_function(table)
        elif table.name not in ctes or table.args.get("db") is not None:
            _name_relation(table, rewritten)
    for column in list(tree.find_all(exp.Column)):
        if column.name == "tableoid" and (oid := _table_oid(column)) is not None:
            column.replace(exp.cast(exp.Literal.number(oid), exp.DataType.build("UINTEGER", dialect="duckdb")))
            continue
        # pg_class.oid and public.pg_class.oid mean the same: aliases have no schema.
        column.set("db", None)
        column.set("catalog", None)
    for call in list(tree.find_all(exp.Unnest)):
        _name_columns_like_table(call)


def _table_oid(column: exp.Column) -> int | None:
    """The oid of the system relation whose `tableoid` the column is; None if it is a subquery's own column."""
    select = column.find_ancestor(exp.Select)
    while select is not None:
        from_ = select.args.get("from_")
        sources = [*([from_.this] if from_ else []), *(join.this for join in select.args.get("joins") or [])]
        for source in sources:
            if column.table in ("", source.alias_or_name):
                oid: int | None = source.meta.get(_OID)
                return oid
        select = select.find_ancestor(exp.Select)
    return None


def _name_relation(table: exp.Table, rewritten: Rewritten) -> None:
    schema = _folded(table.args.get("db"))
    name = _folded(table.this) or table.name
    found = find_system_relation(schema, name)
    if found is None:
        written = f"{schema}.{name}" if schema is not None else name
        if written.startswith(("pg_", "information_schema.", "rw_")):
            raise UndefinedTable(f'relation "{written}" does not exist')
        raise FeatureNotSupported(
            f'system relations or functions together with the relation "{written}" in one query are not supported'
        )
    key = f"{found.schema}.{found.name}"
    rewritten.relations[key] = found
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
    table.set("alias", alias)
    table.set("db", None)
    table.set("catalog", None)
    table.set("this", exp.to_identifier(key, quoted=True))
    table.meta[_OID] = system_relation_oid(found.schema, found.name)


def _folded(identifier: exp.Expr | None) -> str | None:
    """A name, in lower case unless it was quoted."""
    if identifier is None:
        return None
    return str(identifier.name) if identifier.args.get("quoted") else str(identifier.name).lower()


def _replace_table_function(table: exp.Table) -> None:
    name = (function_name(table.this) or str(table.this.sql_name())).lower()
    body = functions.TABLE_FUNCTIONS.get(name)
    if body is None:
        if isinstance(table.this, exp.GenerateSeries | exp.ExplodingGenerateSeries | exp.Explode | exp.Unnest):
            _name_columns_like_table(table)
            return
        raise FeatureNotSupported(f"the function {name} in FROM is not supported")
    subquery = exp.Subquery(this=sqlglot.parse_one(body, read="duckdb"), alias=table.args.get("alias"))
    table.replace(subquery)


def _name_columns_like_table(source: exp.Expr) -> None:
    """`FROM generate_series(1, 2) s` lets PostgreSQL's queries use `s` as the column."""
    alias = source.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.this is not None and not alias.columns:
        alias.set("columns", [alias.this.copy()])


def _replacement(node: exp.Expr, session: SessionFacts, types: Mapping[str, SystemType], *, execute: bool) -> exp.Expr:
    vector = vector_form(node, types)
    if vector is not None:
        return vector
    if isinstance(node, exp.Cast):
        return _cast(node, types)
    if isinstance(node, exp.Literal) and node.is_string:
        return _array_where_expected(node)
    if isinstance(node, exp.Column) and node.name == "user" and not node.table and not node.this.quoted:
        return exp.Literal.string(session.user)
    if isinstance(node, exp.FirstValue) and not isinstance(node.parent, exp.Window):
        return exp.Anonymous(this="first", expressions=[node.this])
    if isinstance(node, exp.Dot) and isinstance(node.this, exp.Paren):
        return exp.Anonymous(this="STRUCT_EXTRACT", expressions=[node.this, exp.Literal.string(node.expression.name)])
    matched = pattern_match(node)
    if matched is not None:
        return matched
    name = function_name(node)
    if name is None:
        return node
    if name == "json_build_object":
        return exp.Anonymous(this="json_object", expressions=arguments_of(node))
    if name in SESSION_FUNCTIONS:
        return evaluate(name, arguments_of(node), session, execute=execute)
    if name in functions.LOOKUP_FUNCTIONS and arguments_of(node):
        kind = functions.LOOKUP_FUNCTIONS[name]
        return object_identifier(node, kind, arguments_of(node)[0], is_oid=False, refuse=False)
    template = functions.call_sql(name)
    if template is None:
        return node
    arguments = arguments_of(node)
    if name in functions.OF_REGCLASS and arguments and not _is_oid(arguments[0], types):
        arguments[0] = exp.paren(functions.instantiate(oid_sql("regclass"), arguments[:1]))
    return exp.paren(functions.instantiate(template, arguments))


def _array_where_expected(node: exp.Expr) -> exp.Expr:
    """A text such as `{1,2}` beside what may be an array, or `{a,b}` after ANY, as an array; any other as it is."""
    parent = node.parent
    if isinstance(parent, exp.EQ | exp.NEQ | exp.Coalesce):
        return _array_literal(node) or node
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    return _array_literal(node) or array_of_text(node.name) if is_quantified(parent) else node


def _array_literal(node: exp.Expr) -> exp.Expr | None:
    if not _ARRAY_TEXT.fullmatch(node.name):
        return None
    return exp.Array(expressions=[exp.Literal.number(n) for n in node.name.strip("{}").split(",") if n])


def _type_name(to: exp.Expr) -> str:
    kind = to.args.get("kind")
    if isinstance(kind, exp.Dot):
        return str(kind.expression.name).lower()
    if isinstance(kind, exp.Expr):
        return str(kind.name).lower()
    return str(to.sql(dialect="postgres")).lower()


def _cast(node: exp.Cast, types: Mapping[str, SystemType]) -> exp.Expr:
    name = _type_name(node.to)
    if name in KINDS:
        return object_identifier(node, name, node.this, is_oid=_is_oid(node.this, types))
    if type_of(node.this, types) is SystemType.REGPROC and node.to.this in exp.DataType.TEXT_TYPES:
        return exp.paren(functions.instantiate(name_sql("regproc"), [node.this]))
    target = "VARCHAR" if name in _TEXT_TYPES else _NUMBER_TYPES.get(name) or _LISTS.get(name)
    if name.endswith("[]"):
        literal = _array_literal(node.this) if isinstance(node.this, exp.Literal) else None
        if literal is not None:
            node.set("this", literal)
        if any(text in name for text in _TEXT_TYPES):
            target = "VARCHAR[]"
    if target is not None:
        node.set("to", exp.DataType.build(target, dialect="duckdb"))
    return node


def _is_oid(node: exp.Expr, types: Mapping[str, SystemType]) -> bool:
    """Whether an expression is known to be a number: what else a cast to regclass stands over may be a text."""
    inner = node.unnest()
    if isinstance(inner, exp.Cast):
        return _type_name(inner.to) in ("oid", *KINDS)
    return (isinstance(inner, exp.Literal) and not inner.is_string) or type_of(inner, types) in _OIDS
