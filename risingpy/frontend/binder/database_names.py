"""The database in front of a name, `dev.public.t`: that of the session; queries may read relations of others, too.

One walk over a statement finds every name in it, so that no statement can forget to look.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import assert_never

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, SyntaxError_
from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.parser.ast import (
    CreateFunction,
    CreateSink,
    CreateSubscription,
    DeclareSubscriptionCursor,
    DropFunction,
    ObjectName,
    Query,
    Subscribe,
    TypeName,
)
from risingpy.frontend.parser.cursor import fold
from risingpy.frontend.parser.dml.within import WriteInWith
from risingpy.frontend.parser.parser_tools import TYPE_TEXT
from risingpy.frontend.parser.tokenize import tokenize
from risingpy.frontend.system_catalog.system_relation import IMPLICIT_SCHEMAS

_DOTTED = re.compile(r"[^.(<]+\.")  # a type's name with something in front
_OF_EACH_DATABASE = (*IMPLICIT_SCHEMAS, "information_schema")
_FUNCTIONS = (CreateFunction, DropFunction)  # errors put the name of a relation in quotes, that of a function not


@dataclass(frozen=True, slots=True)
class _Name:
    """A dotted name: its parts from the database on, how many it may have, and where it stands."""

    parts: tuple[str, ...]
    most: int
    position: int | None
    of_relation: bool = False
    is_read: bool = False


def check_databases(
    statement: object, text: str, databases: Collection[str], readable: Callable[[], Collection[str]] = tuple
) -> None:
    """Raises unless the names of a parsed statement, whose text this is, are of one of these databases.

    Relations that a query reads may be in those of `readable`, too.

    FeatureNotSupported for another database, SyntaxError_ for too many dots.
    """
    if text.count(".") < 2:  # most statements are not walked through
        return
    for name in _names(statement):
        shown = ".".join(name.parts)
        if len(name.parts) > name.most:
            message = f"improper qualified name (too many dotted names): {shown}"
            raise SyntaxError_(message, position=name.position)
        if len(name.parts) == name.most and name.parts[0] not in databases:
            if name.is_read and name.parts[0] in readable() and name.parts[1] not in _OF_EACH_DATABASE:
                continue
            shown = f'"{shown}"' if name.of_relation else shown
            message = f"cross-database references are not implemented: {shown}"
            raise FeatureNotSupported(message, position=name.position)


def _names(part: object) -> Iterator[_Name]:
    """The dotted names in a statement, or in a part of it."""
    match part:
        case CreateSink() | CreateSubscription() | DeclareSubscriptionCursor() | Subscribe():
            read = _read(part)
            for field in dataclasses.fields(part):
                value = getattr(part, field.name)
                found = _names(value)
                yield from (dataclasses.replace(name, is_read=name.is_read or value is read) for name in found)
        case ObjectName(database=str(database), schema=str(schema)):
            yield _Name((database, schema, part.name), 3, part.position, of_relation=True)
        case TypeName() if _DOTTED.match(part.text):
            yield _type_name(part.text.partition("[")[0].rstrip(), part.position)
        case exp.Expr():
            for node in part.walk():
                yield from _names(node.statement) if isinstance(node, WriteInWith) else _names_of_node(node)
        case tuple() | list():
            for item in part:
                yield from _names(item)
        case _ if dataclasses.is_dataclass(part):
            found = (name for field in dataclasses.fields(part) for name in _names(getattr(part, field.name)))
            if isinstance(part, _FUNCTIONS):
                found = (dataclasses.replace(name, of_relation=False) for name in found)
            yield from found


def _read(
    statement: CreateSink | CreateSubscription | DeclareSubscriptionCursor | Subscribe,
) -> ObjectName | Query | None:
    """What a statement reads, which may be another database's."""
    match statement:
        case CreateSink() | CreateSubscription():
            return statement.relation
        case DeclareSubscriptionCursor():
            return statement.subscription
        case Subscribe():
            return statement.target
        case _:
            assert_never(statement)


def _names_of_node(node: exp.Expr) -> Iterator[_Name]:
    """The name that the node itself is."""
    match node:
        case exp.Table() if node.args.get("catalog") is not None:
            parts = [node.args["catalog"], node.args["db"], *_dotted(node.this)]
            of_relation = not isinstance(node.this, exp.Anonymous)
            yield _Name(tuple(map(_shown, parts)), 3, begin_of(parts[0]), of_relation, is_read=of_relation)
        case exp.Column() if node.args.get("catalog") is not None:
            parts = [node.args[key] for key in ("catalog", "db", "table", "this")]
            above: exp.Expr | None = node.parent
            while isinstance(above, exp.Dot):
                parts.append(above.expression)
                above = above.parent
            yield _Name(tuple(map(_shown, parts)), 4, begin_of(parts[0]), is_read=True)
        case exp.Dot(expression=exp.Anonymous()) if not isinstance(node.parent, exp.Dot):
            parts = _dotted(node)
            if len(parts) > 2 and all(isinstance(part, exp.Identifier) for part in parts[:-1]):
                yield _Name(tuple(map(_shown, parts)), 3, begin_of(parts[0]))
        case exp.DataType(args={"kind": exp.Dot()}):
            whole: exp.Expr | None = node  # of an array's type the text is known as a whole only
            while whole is not None and TYPE_TEXT not in whole.meta:
                whole = whole.parent
            if whole is not None:
                yield _type_name(str(whole.meta[TYPE_TEXT]).partition("[")[0], begin_of(whole))


def _type_name(text: str, position: int) -> _Name:
    words = [token.text for token in tokenize(text) if token.text != "."]
    return _Name(tuple(map(fold, words)), 3, position)


def _dotted(tree: exp.Expr) -> list[exp.Expr]:
    """`a.b.c` as its parts."""
    return [*_dotted(tree.this), tree.expression] if isinstance(tree, exp.Dot) else [tree]


def _shown(part: exp.Expr) -> str:
    return "*" if isinstance(part, exp.Star) else name_of(part)
