"""A query's typed text with new names in it, for what the printer has no form of: `TRY_CAST`, `SIMILAR TO`, OVERLAPS.

The binder says which words mean a relation: `FROM t` becomes `FROM u AS t`, as in RisingWave. Words that may mean a
renamed column are found by the name. So a text that is made here counts only if it is read as the query that was meant,
which the caller looks at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from risingpy.frontend.binder.scope.context import NamedRelation
from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.binder.typing.names_of_types import Edit, edited
from risingpy.frontend.parser import parse_query
from risingpy.frontend.parser.tokenize import end_of_item, end_of_name, is_table_statement
from risingpy.frontend.table_definition import quoted
from risingpy.plan.catalog import DEFAULT_SCHEMA, Catalog, CreatedRelation, FunctionDesc


def with_edited_names(
    text: str,
    named: Sequence[NamedRelation],
    called: Sequence[tuple[FunctionDesc, FunctionDesc]],
    before: Catalog,
    after: Catalog,
) -> Iterator[str]:
    """Texts that may mean in the catalog `after` what this one means in `before`, where it names `named`.

    `called` are the functions that it calls, as they are in both.
    """
    tree = parse_query(text).tree
    columns = _renamed_columns({each.relation_id for each in named}, before, after)
    for qualified in (False, True):
        edits = _of_columns(text, tree, columns)
        edits |= _of_relations(text, tree, named, before, after, qualified=qualified)
        yield edited(text, [*edits.values(), *_of_calls(text, tree, called)])


def _of_relations(
    text: str,
    tree: exp.Expr,
    named: Sequence[NamedRelation],
    before: Catalog,
    after: Catalog,
    *,
    qualified: bool,
) -> dict[int, Edit]:
    """The edits by where they begin."""
    edits: dict[int, Edit] = {}
    for item in named:
        old, new = before.relations[item.relation_id], after.relations[item.relation_id]
        if full_name(old, before) == full_name(new, after):
            continue
        end = end_of_name(text, item.start)
        written = written_name(new, after, qualified=qualified)
        needs_alias = not item.has_alias and new.name != old.name
        if needs_alias and is_table_statement(text, item.start):
            begin = text[: item.start].upper().rindex("TABLE")
            edits[begin] = begin, end, f"SELECT * FROM {written} AS {quoted(old.name)}"
            continue
        edits[item.start] = item.start, end, written
        if needs_alias:
            place = end_of_item(text, item.start, is_argument=item.is_argument)
            alias = f" AS {quoted(old.name)}"
            if place == end:
                edits[item.start] = item.start, end, written + alias
            else:
                edits[place] = place, place, alias
        for start, stop in _qualifiers(text, tree, old):
            shown = quoted(old.name) if new.name != old.name else f"{quoted(new.schema_name)}.{quoted(new.name)}"
            edits[start] = start, stop, shown
    return edits


def _qualifiers(text: str, tree: exp.Expr, relation: CreatedRelation) -> Iterator[tuple[int, int]]:
    """Where columns are written `schema.table.column`, of a relation that has no alias: the first two words."""
    for column in tree.find_all(exp.Column):
        names = name_of(column.args.get("db")), name_of(column.args.get("table"))
        if names == (relation.schema_name, relation.name):
            start = begin_of(column) - 1
            words = 3 if column.args.get("catalog") is not None else 2
            yield start, end_of_name(text, start, most=words)


def _renamed_columns(relation_ids: set[int], before: Catalog, after: Catalog) -> Mapping[str, str]:
    """The new names of the relations' columns by the old ones."""
    found = {}
    for relation_id in relation_ids:
        now = {column.column_id: column.name for column in after.relations[relation_id].columns}
        for column in before.relations[relation_id].columns:
            if now.get(column.column_id, column.name) != column.name:
                found[column.name] = now[column.column_id]
    return found


def _of_columns(text: str, tree: exp.Expr, renamed: Mapping[str, str]) -> dict[int, Edit]:
    """The edits by where they begin, of `column` and `table.column`; a column of the result keeps its name."""
    edits: dict[int, Edit] = {}
    for column in tree.find_all(exp.Column):
        name = name_of(column.this) if isinstance(column.this, exp.Identifier) else ""
        if name not in renamed or column.args.get("db") is not None:
            continue
        start = begin_of(column) - 1
        words = 1 if column.args.get("table") is None else 2
        end = end_of_name(text, start, most=words)
        table = text[start : end_of_name(text, start, most=1)] + "." if words == 2 else ""
        keeps = (
            f" AS {quoted(name)}" if isinstance(column.parent, exp.Select) and column.arg_key == "expressions" else ""
        )
        edits[start] = start, end, f"{table}{quoted(renamed[name])}{keeps}"
    return edits


def _of_calls(text: str, tree: exp.Expr, called: Sequence[tuple[FunctionDesc, FunctionDesc]]) -> list[Edit]:
    """The edits of the calls of functions that are elsewhere now, or have another name."""
    edits = calls_of(text, tree, {old.schema_name: new.schema_name for old, new in called if _has_moved(old, new)})
    for old, new in called:
        edits += renamed_calls(text, tree, old, new)
    return edits


def _has_moved(old: FunctionDesc, new: FunctionDesc) -> bool:
    return old.schema_name != new.schema_name


def has_schema(call: exp.Expr) -> bool:
    """Whether a schema is written before a call, in FROM or elsewhere."""
    parent = call.parent
    return isinstance(parent, exp.Dot) or (isinstance(parent, exp.Table) and bool(parent.args.get("db")))


def renamed_calls(text: str, tree: exp.Expr, old: FunctionDesc, new: FunctionDesc) -> list[Edit]:
    """The edits of calls by the old name, but for the schemas that are written before it."""
    edits = []
    for call in tree.find_all(exp.Anonymous):
        if name_of(call) != old.name:
            continue
        start = begin_of(call) - 1
        needs_schema = not has_schema(call) and _has_moved(old, new) and new.schema_name != DEFAULT_SCHEMA
        name = quoted(new.name)
        edits.append(
            (start, end_of_name(text, start, most=1), f"{quoted(new.schema_name)}.{name}" if needs_schema else name)
        )
    return [] if (old.name, old.schema_name) == (new.name, new.schema_name) else edits


def calls_of(text: str, tree: exp.Expr, schemas: Mapping[str, str]) -> list[Edit]:
    """The edits where a call is written `schema.function(…)`, of a schema with another name in `schemas`."""
    edits = []
    for node in tree.walk():
        match node:
            case exp.Dot(this=place, expression=exp.Anonymous()):
                schema = place.expression if isinstance(place, exp.Dot) else place
            case exp.Table(this=exp.Anonymous(), args={"db": exp.Identifier() as schema}):
                pass
            case _:
                continue
        if isinstance(schema, exp.Identifier) and name_of(schema) in schemas:
            start = begin_of(schema) - 1
            edits.append((start, end_of_name(text, start, most=1), quoted(schemas[name_of(schema)])))
    return edits


def full_name(relation: CreatedRelation, catalog: Catalog) -> tuple[str, str, str]:
    """Its database, schema and name."""
    return catalog.databases[relation.database_id].name, relation.schema_name, relation.name


def written_name(relation: CreatedRelation, catalog: Catalog, *, qualified: bool = False) -> str:
    """The name in a text of the database that sees the catalog."""
    if relation.database_id != catalog.database_id:
        return ".".join(map(quoted, full_name(relation, catalog)))
    in_default = relation.schema_name == DEFAULT_SCHEMA and not qualified
    return quoted(relation.name) if in_default else f"{quoted(relation.schema_name)}.{quoted(relation.name)}"
