"""Rewrites the texts of views when a relation that they name is renamed: `FROM t` becomes `FROM u AS t`.

RisingWave does the same. The view keeps its plan. SHOW CREATE and pg_get_viewdef print the text, from which the view
can be made again elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.parser import parse, parse_query
from risingpy.frontend.parser.ast import CreateSink, CreateSubscription, ObjectName
from risingpy.frontend.parser.tokenize import end_of_name
from risingpy.frontend.table_definition import quoted
from risingpy.meta.schema.alter import RelationReader
from risingpy.plan.catalog import DEFAULT_SCHEMA, CreatedRelation, QueryRelation


def with_renamed_relation(reader: RelationReader, old: CreatedRelation, new: CreatedRelation) -> RelationReader:
    """The view, sink or subscription `reader` with the relation's new name in its texts."""
    if not isinstance(reader, QueryRelation):
        return replace(reader, definition=_renamed_in_definition(reader.definition, old, new))
    query = _renamed(reader.query, old, new)
    definition = reader.definition.replace(reader.query, query, 1)
    return replace(reader, query=query, definition=definition)


def _renamed_in_definition(text: str, old: CreatedRelation, new: CreatedRelation) -> str:
    """`FROM t` says no more than the name; a sink's query is as that of a view."""
    [parsed] = parse(text)
    statement = parsed.statement
    assert isinstance(statement, CreateSink | CreateSubscription)
    if isinstance(statement, CreateSink):
        if statement.query is not None:
            query = statement.query.text
            text = text.replace(query, _renamed(query, old, new), 1)
        if statement.into is not None and _names(statement.into, old):
            return _with_name(text, statement.into, new)  # the query cannot read what the sink goes into
    if statement.relation is None:
        return text
    return _with_name(text, statement.relation, new)


def _names(name: ObjectName, relation: CreatedRelation) -> bool:
    return name.name == relation.name and name.schema in (None, relation.schema_name)


def _with_name(text: str, name: ObjectName, new: CreatedRelation) -> str:
    start = name.position - 1
    schema = "" if new.schema_name == DEFAULT_SCHEMA else f"{quoted(new.schema_name)}."
    return f"{text[:start]}{schema}{quoted(new.name)}{text[end_of_name(text, start) :]}"


def _renamed(text: str, old: CreatedRelation, new: CreatedRelation) -> str:
    tree = parse_query(text).tree
    common = {name_of(cte.args["alias"].this) for cte in tree.find_all(exp.CTE)}
    schema = "" if new.schema_name == DEFAULT_SCHEMA else f"{quoted(new.schema_name)}."
    edits: list[tuple[int, int, str]] = []
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Func) or name_of(table.this) != old.name:
            continue
        named_schema = name_of(table.args.get("db")) or None
        if named_schema != old.schema_name and (named_schema is not None or old.name in common):
            continue
        start = begin_of(table) - 1
        alias = "" if table.args.get("alias") is not None or new.name == old.name else f" AS {quoted(old.name)}"
        edits.append((start, end_of_name(text, start), f"{schema}{quoted(new.name)}{alias}"))
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text
