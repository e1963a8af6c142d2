"""The texts of what stands in a schema or database that gets another name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.frontend.binder.typing.names_of_types import Edit, edited
from risingpy.frontend.deparse.edited_names import calls_of, renamed_calls
from risingpy.frontend.parser import parse, parse_query
from risingpy.frontend.parser.ast import CreateFunction
from risingpy.frontend.parser.tokenize import end_of_name
from risingpy.frontend.renamed_text import with_new_names
from risingpy.frontend.statements.alter_relation import renamed_definition
from risingpy.frontend.statements.user_types.type_texts import with_type_names
from risingpy.frontend.table_definition import quoted
from risingpy.meta.schema.renaming import Retold
from risingpy.plan.catalog import DEFAULT_SCHEMA, FunctionDesc


def retold() -> Retold:
    """How the texts follow the name."""
    return Retold(renamed_definition, _function, with_new_names, _body, with_type_names)


def _function(function: FunctionDesc) -> str:
    [parsed] = parse(function.definition)
    assert isinstance(parsed.statement, CreateFunction)
    start = parsed.statement.name.position - 1
    end = end_of_name(function.definition, start)
    schema = "" if function.schema_name == DEFAULT_SCHEMA else f"{quoted(function.schema_name)}."
    return f"{function.definition[:start]}{schema}{quoted(function.name)}{function.definition[end:]}"


def _body(function: FunctionDesc, old: str, new: str) -> tuple[FunctionDesc, bool]:
    """The function whose body calls functions of a schema by its new name, and whether its text is another one, too."""
    [parsed] = parse(function.definition)
    statement = parsed.statement
    assert isinstance(statement, CreateFunction)
    if statement.procedure:  # no view calls it, and its body is no query
        return function, False
    edits = calls_of(function.body, parse_query(function.body).tree, {old: new})
    if not statement.follows_names:
        return replace(function, body=edited(function.body, edits)), False
    return _edited_expression(function, statement, edits), True


def called_by_new_name(function: FunctionDesc, old: FunctionDesc, new: FunctionDesc) -> FunctionDesc:
    """A function whose body is unquoted, and calls `new` no more by its old name; any other one as it is."""
    [parsed] = parse(function.definition)
    statement = parsed.statement
    assert isinstance(statement, CreateFunction)
    if not statement.follows_names or function.database_id != old.database_id:
        return function
    tree = parse_query(function.body).tree
    calls = renamed_calls(function.body, tree, old, new)
    moves = calls_of(function.body, tree, {old.schema_name: new.schema_name}) if calls else []
    return _edited_expression(function, statement, [*moves, *calls])


def _edited_expression(function: FunctionDesc, statement: CreateFunction, edits: Sequence[Edit]) -> FunctionDesc:
    """The function with an edited body, which stands in its definition, too."""
    by = statement.body.position - 1 - statement.body.added
    in_definition = [(start + by, end + by, written) for start, end, written in edits]
    definition = edited(function.definition, in_definition)
    return replace(function, body=edited(function.body, edits), definition=definition)
