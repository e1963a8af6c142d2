"""What CREATE SOURCE and CREATE SINK do with the options of WITH and of ENCODE."""

from __future__ import annotations

import re
from collections.abc import Sequence

from risingpy.errors import SyntaxError_
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import CreateSink, CreateSource, CreateSubscription, CreateTable, ParsedStatement
from risingpy.frontend.parser.ast_create import OptionPlace

_CREDENTIAL = re.compile(r"password|secret|token|credential|jaas|private|(^|[._])key($|[._])")


def check_names(options: Sequence[tuple[str, str]]) -> None:
    """Raises SyntaxError_ for an option that is given twice."""
    names = [name for name, _ in options]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise SyntaxError_(f'option "{name}" specified more than once')


def without_credentials(parsed: ParsedStatement, places: Sequence[OptionPlace]) -> str:
    """The statement's text as SHOW CREATE and the catalogs show it."""
    text = parsed.text
    for place in reversed(places):
        if _CREDENTIAL.search(place.name):
            text = f"{text[: place.begin - 1 - parsed.offset]}'***'{text[place.end - 1 - parsed.offset :]}"
    return text


def with_option(definition: str, name: str, value: str) -> str:
    """A source's, table's, sink's or subscription's CREATE statement with another value of an option."""
    if _CREDENTIAL.search(name):
        value = "***"
    if not re.fullmatch(r"\w+", value):
        value = quoted_literal(value)
    [parsed] = parse(definition)
    assert isinstance(parsed.statement, CreateSource | CreateSink | CreateTable | CreateSubscription)
    places = {place.name: place for place in parsed.statement.option_places}
    if name in places:
        place = places[name]
        return f"{definition[: place.begin - 1]}{value}{definition[place.end - 1 :]}"
    last = parsed.statement.option_places[-1]
    return f"{definition[: last.end - 1]}, {name} = {value}{definition[last.end - 1 :]}"


def quoted_literal(text: str) -> str:
    """`text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"
