"""Statements' texts as SHOW CREATE and the system relations show them: without the values of secret options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from risingpy.connectors.secret_options import MASK, masked_errors, masked_value
from risingpy.frontend.parser.ast import (
    AlterConnection,
    AlterConnector,
    AlterRole,
    AlterSecret,
    AlterSink,
    CreateConnection,
    CreateRole,
    CreateSecret,
    CreateSink,
    CreateSource,
    CreateSubscription,
    CreateTable,
    Explain,
    ParsedStatement,
)
from risingpy.frontend.parser.ast import Statement as StatementTree
from risingpy.frontend.parser.ast_create import OptionPlace
from risingpy.frontend.results import Statement
from risingpy.sql_quoting import quoted_text

_MAY_HAVE_OPTIONS = re.compile(r"\b(connector|secret|connection|password)\b|\balter\s+sink\b", re.IGNORECASE)
_FIRST_VALUE = re.compile(r"[('$]")
_LONGEST_WITH_OPTIONS = 100_000  # characters: longer texts bring rows


def shown_text(statement: Statement) -> str:
    """The statement's own text, in which the values of secret options are `'***'`."""
    if not isinstance(statement, ParsedStatement):
        return statement.text
    text = statement.text
    for place in reversed(option_places(statement.statement)):
        if place.is_reference:
            continue
        begin, end = place.begin - 1 - statement.offset, place.end - 1 - statement.offset
        value = text[begin:end]
        shown = masked_value(place.name, value)
        text = f"{text[:begin]}{quoted_literal(MASK) if shown == MASK else shown}{text[end:]}"
    return text


def shown_unparsed(text: str) -> str:
    """What may be shown of a text before it is parsed: not the options of one that may have secret ones."""
    if len(text) <= _LONGEST_WITH_OPTIONS and _MAY_HAVE_OPTIONS.search(text):
        return f"{_FIRST_VALUE.split(text, maxsplit=1)[0]}…"
    return text


@contextmanager
def masked_errors_of(statement: Statement) -> Iterator[None]:
    """Errors of the block have no values of the statement's secret options in their texts."""
    tree = statement.statement if isinstance(statement, ParsedStatement) else None
    match tree:
        case CreateSource() | CreateSink() | CreateTable():
            encoding = () if tree.message_format is None else tree.message_format.options
            options = dict((*encoding, *tree.options))
        case AlterSink() | AlterConnector() | AlterConnection() | CreateConnection():
            options = dict(tree.options)
        case CreateSecret() | AlterSecret():
            options = {"secret": tree.value}
        case _:
            options = {}
    with masked_errors(options):
        yield


def option_places(statement: StatementTree) -> Sequence[OptionPlace]:
    """Where the values of a statement's options stand, in order."""
    match statement:
        case Explain():
            return option_places(statement.statement)
        case CreateSource() | CreateSink() | CreateTable() | CreateSubscription() | AlterSink():
            return statement.option_places
        case AlterConnector() | AlterConnection() | CreateConnection() | CreateSecret() | AlterSecret():
            return statement.option_places
        case CreateRole() | AlterRole():
            return statement.option_places
    return ()


def option_text(name: str, value: str) -> str:
    """An option's value as a statement has it, `'***'` for a secret's."""
    value = masked_value(name, value)
    return value if re.fullmatch(r"\w+", value) else quoted_literal(value)


def quoted_literal(text: str) -> str:
    """`text` as an SQL string."""
    return quoted_text(text)
