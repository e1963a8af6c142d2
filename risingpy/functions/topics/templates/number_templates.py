"""Templates of to_char and to_number for numbers: `FM999,990.00` read once, then used for every row.

Source: the manual, 9.8, and PostgreSQL 15's formatting.c (NUMDesc).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from risingpy.errors import SyntaxError_
from risingpy.functions.topics.templates.literal_text import literal_at

_KEYWORD = re.compile(r"EEEE|eeee|FM|fm|MI|mi|PL|pl|PR|pr|SG|sg|SP|sp|RN|rn|TH|th|[09BDGLSVbdglsv.,]")


@dataclass(slots=True)
class NumberTemplate:
    """What a template says: `pieces` are (keyword or None, text), counts are of digits."""

    pieces: list[tuple[str | None, str]] = field(default_factory=list)
    before: int = 0
    after: int = 0
    zero_start: int = 0
    zero_end: int = 0
    multiplied: int = 0
    digits_before_sign: int = 0
    sign: str = ""  # "before" or "after" the digits, for S
    decimal: bool = False
    zero: bool = False
    blank: bool = False
    fill: bool = True
    bracket: bool = False
    minus: bool = False
    plus: bool = False
    roman: bool = False
    multi: bool = False
    scientific: bool = False


@lru_cache(maxsize=512)
def read_number_template(text: str) -> NumberTemplate:
    """Raises SyntaxError_ (42601) for contradictions."""
    template = NumberTemplate()
    at = 0
    while at < len(text):
        found = _KEYWORD.match(text, at)
        if found is None:
            literal, at = literal_at(text, at)
            template.pieces.extend((None, char) for char in literal)
            continue
        keyword = found[0] if found[0] in ("rn", "th") else found[0].upper()
        if template.scientific:
            raise SyntaxError_('"EEEE" must be the last pattern used')
        _take(template, keyword)
        template.pieces.append((keyword, found[0]))
        at = found.end()
    return template


def _take(t: NumberTemplate, keyword: str) -> None:
    match keyword:
        case "9" | "0":
            _take_digit(t, keyword)
        case "B":
            t.blank = t.blank or (t.before == 0 and t.after == 0 and not t.zero)
        case "D" | ".":
            if t.decimal:
                raise SyntaxError_("multiple decimal points")
            if t.multi:
                raise SyntaxError_('cannot use "V" and decimal point together')
            t.decimal = True
        case "FM":
            t.fill = False
        case "S":
            _take_sign(t)
        case "MI" | "PL" | "SG":
            if t.sign:
                raise SyntaxError_(f'cannot use "S" and "{keyword}" together')
            t.minus = t.minus or keyword in ("MI", "SG")
            t.plus = t.plus or keyword in ("PL", "SG")
        case "PR":
            if t.sign or t.plus or t.minus:
                raise SyntaxError_('cannot use "PR" and "S"/"PL"/"MI"/"SG" together')
            t.bracket = True
        case "RN" | "rn":
            t.roman = True
        case "V":
            if t.decimal:
                raise SyntaxError_('cannot use "V" and decimal point together')
            t.multi = True
        case "EEEE":
            if t.sign or t.bracket or t.minus or t.plus or t.roman or t.multi or t.blank or not t.fill:
                raise SyntaxError_('"EEEE" is incompatible with other formats')
            t.scientific = True


def _take_digit(t: NumberTemplate, keyword: str) -> None:
    if t.bracket:
        raise SyntaxError_(f'"{keyword}" must be ahead of "PR"')
    if keyword == "9" and t.multi:
        t.multiplied += 1
        return
    if keyword == "0" and not t.zero and not t.decimal:
        t.zero, t.zero_start = True, t.before + 1
    if t.decimal:
        t.after += 1
    else:
        t.before += 1
    if keyword == "0":
        t.zero_end = t.before + t.after


def _take_sign(t: NumberTemplate) -> None:
    if t.sign:
        raise SyntaxError_('cannot use "S" twice')
    if t.plus or t.minus or t.bracket:
        raise SyntaxError_('cannot use "S" and "PL"/"MI"/"SG"/"PR" together')
    t.sign = "after" if t.decimal else "before"
    if not t.decimal:
        t.digits_before_sign = t.before
