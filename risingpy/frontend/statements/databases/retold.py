"""The texts of what stands in a schema or database that gets another name."""

from __future__ import annotations

from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import CreateFunction
from risingpy.frontend.parser.tokenize import end_of_name
from risingpy.frontend.renamed_text import with_renamed_relations
from risingpy.frontend.statements.alter_relation import renamed_definition
from risingpy.frontend.table_definition import quoted
from risingpy.meta.schema.renaming import Retold
from risingpy.plan.catalog import DEFAULT_SCHEMA, FunctionDesc


def retold() -> Retold:
    """How the texts follow the name."""
    return Retold(renamed_definition, _function, with_renamed_relations)


def _function(function: FunctionDesc) -> str:
    [parsed] = parse(function.definition)
    assert isinstance(parsed.statement, CreateFunction)
    start = parsed.statement.name.position - 1
    end = end_of_name(function.definition, start)
    schema = "" if function.schema_name == DEFAULT_SCHEMA else f"{quoted(function.schema_name)}."
    return f"{function.definition[:start]}{schema}{quoted(function.name)}{function.definition[end:]}"
