"""Where a text names a type that a user has created: in a cast, `'sad'::mood`.

As with relations, nothing is searched for by its name: the parser says which words are a type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sqlglot import exp

from risingpy.frontend.binder.trees import begin_of
from risingpy.frontend.binder.typing.type_names import KnownTypes, element_name, internal_name, qualified_type_name
from risingpy.frontend.parser.ast_parts import Expression
from risingpy.frontend.parser.parser_tools import TYPE_TEXT
from risingpy.frontend.parser.tokenize import end_of_name
from risingpy.frontend.table_definition import quoted
from risingpy.plan.catalog import UserType

Edit = tuple[int, int, str]  # from, to (characters from 0), and what stands there then


def named_types(tree: exp.Expr, types: KnownTypes) -> Iterator[tuple[int, UserType]]:
    """(Where its name begins, in characters from 1 of the statement; the type) of each that a user has created."""
    for node in tree.walk():
        if TYPE_TEXT not in node.meta or isinstance(node.parent, exp.DataType):
            continue
        element = element_name(str(node.meta[TYPE_TEXT]))
        found = types.created(qualified_type_name(element) or (internal_name(element),))
        if found is not None:
            yield begin_of(node), found


def type_edits(
    text: str, tree: exp.Expr, types: KnownTypes, written: Callable[[UserType], str | None], begin: int = 1
) -> list[Edit]:
    """The edits that write types anew in a text, which begins at `begin` of its statement. None: it stays."""
    edits = {}
    for position, found in named_types(tree, types):
        new, start = written(found), position - begin
        if new is not None:
            edits[start] = start, end_of_name(text, start), new
    return list(edits.values())


def full_type_name(found: UserType) -> str:
    """The name with its schema, for a text that is read without a search path."""
    return f"{quoted(found.schema_name)}.{quoted(found.name)}"


def text_with_schemas(expression: Expression, types: KnownTypes) -> str:
    """The text of an expression that is stored, and read later without a search path: types have their schemas."""
    if not types.catalog.types:
        return expression.text
    edits = type_edits(expression.text, expression.tree, types, full_type_name, expression.position)
    return edited(expression.text, edits)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits that do not overlap."""
    for start, end, written in sorted(edits, reverse=True):
        text = text[:start] + written + text[end:]
    return text
