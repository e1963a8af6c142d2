"""jsonpath's .datetime(template): a text read by a template of to_timestamp's, in SQL's standard manner.

What the template names decides what comes: a date, a time, or both, with a zone or without. Separators must be those of
the template, and nothing may be left over. Source: PostgreSQL 15's parse_datetime.
"""

from __future__ import annotations

from risingpy.errors import SqlError
from risingpy.functions.topics.jsonpath.error import PathError
from risingpy.functions.topics.jsonpath.moments import Moment, made_moment, text_item
from risingpy.functions.topics.templates.datetime_input import (
    StandardReader,
    clock_of,
    wall_clock_of,
)
from risingpy.functions.topics.templates.datetime_templates import Template, read_template
from risingpy.types.date_units import MICROS_OF_DAY
from risingpy.types.datetime_text import MAX_OFFSET_HOURS
from risingpy.types.jsonb import Json

_SEPARATORS = "-./,':; "
_OF_ZONES = frozenset({"TZ", "tz", "OF", "TZH", "TZM"})
_OF_CLOCKS = frozenset(
    {
        *("A.M.", "P.M.", "a.m.", "p.m.", "AM", "PM", "am", "pm", "HH", "HH12", "HH24", "MI", "SS", "MS", "US"),
        *("SSSS", "SSSSS", *(f"FF{digits}" for digits in range(1, 7))),
    }
)
_FORMAT = "22007"


def moment_by_template(item: Json, template: str) -> Moment:
    """The result of .datetime(template) for a text. Raises PathError, or SqlError for a wrong template."""
    text, pieces = text_item(item), read_template(template)
    for piece in pieces.pieces:
        if piece.keyword is None and not piece.quoted and piece.text not in _SEPARATORS:
            # The path is to blame, not the value: silent calls raise it, too.
            raise SqlError(f'invalid datetime format separator: "{piece.text}"', sqlstate=_FORMAT)
    try:
        return _read(text, pieces)
    except PathError:
        raise
    except SqlError as error:
        raise PathError(error.message, sqlstate=error.sqlstate, hint=error.hint) from None


def _read(text: str, template: Template) -> Moment:
    words = {piece.keyword for piece in template.pieces if piece.keyword is not None}
    fields = StandardReader(template, text).read()
    zoned, timed = bool(words & _OF_ZONES), bool(words & _OF_CLOCKS)
    dated = bool(words - _OF_ZONES - _OF_CLOCKS)
    if not dated and not timed:
        raise PathError("datetime format is not dated and not timed", sqlstate=_FORMAT)
    if zoned and not timed:
        raise PathError("datetime format is zoned but not timed", sqlstate=_FORMAT)
    micros = wall_clock_of(fields) if dated else clock_of(fields)
    if not timed:
        micros -= micros % MICROS_OF_DAY
    kind = "timestamp" if dated and timed else "date" if dated else "time"
    hours, minutes = fields.get("TZH"), fields.get("TZM")
    if not 0 <= hours <= MAX_OFFSET_HOURS or not 0 <= minutes < 60:
        raise PathError(f'time zone displacement out of range: "{text}"', sqlstate="22009")
    offset = fields.get("zone_sign", 1) * (hours * 60 + minutes) * 60
    return made_moment(kind + "tz" * zoned, micros, offset if zoned else 0)
