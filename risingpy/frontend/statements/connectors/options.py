"""What CREATE SOURCE and CREATE SINK do with the options of WITH and of ENCODE."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import SyntaxError_
from risingpy.frontend.parser import parse
from risingpy.frontend.shown_text import option_places, option_text


def check_names(options: Sequence[tuple[str, str]]) -> None:
    """Raises SyntaxError_ for an option that is given twice."""
    names = [name for name, _ in options]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise SyntaxError_(f'option "{name}" specified more than once')


def with_option(definition: str, name: str, value: str) -> str:
    """A source's, table's, sink's or subscription's CREATE statement with another value of an option."""
    return with_option_text(definition, name, option_text(name, value))


def with_option_text(definition: str, name: str, value: str) -> str:
    """As `with_option`, for a value as it stands in SQL."""
    [parsed] = parse(definition)
    places = {place.name: place for place in option_places(parsed.statement)}
    if name in places:
        place = places[name]
        return f"{definition[: place.begin - 1]}{value}{definition[place.end - 1 :]}"
    last = option_places(parsed.statement)[-1]
    return f"{definition[: last.end - 1]}, {name} = {value}{definition[last.end - 1 :]}"
