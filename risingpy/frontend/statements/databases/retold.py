"""The texts of what stands in a schema or database that gets another name."""

from __future__ import annotations

from dataclasses import replace

from risingpy.frontend.binder.typing.names_of_types import edited
from risingpy.frontend.deparse.edited_names import calls_of
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
    """The function whose body calls functions of a schema by its new name, and whether its body is RETURN's."""
    [parsed] = parse(function.definition)
    statement = parsed.statement
    assert isinstance(statement, CreateFunction)
    edits = calls_of(function.body, parse_query(function.body).tree, {old: new})
    changed = replace(function, body=edited(function.body, edits))
    if not statement.returns_expression:
        return changed, False
    # The body is the text that stands after RETURN, with SELECT in front.
    by = statement.body_position - 1 - (len(function.body) - len(statement.body))
    in_definition = [(start + by, end + by, written) for start, end, written in edits]
    return replace(changed, definition=edited(function.definition, in_definition)), True
