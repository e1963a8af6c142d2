"""Templates of to_char, to_date and to_timestamp: `FMDay, DD "of" Month YYYY` read into pieces.

Source: the manual, 9.8, and PostgreSQL 15's formatting.c. The longest keyword wins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from risingpy.errors import FeatureNotSupported
from risingpy.functions.topics.templates.literal_text import literal_at

# Keywords whose case is kept, as it says how names are written; of the others only one of upper and lower is listed.
_SPELLED = (
    "A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "a.d.", "a.m.", "ad", "am", "b.c.", "bc", "P.M.", "PM", "p.m.", "pm",
    "DAY", "Day", "day", "DY", "Dy", "dy", "MONTH", "Month", "month", "MON", "Mon", "mon", "RM", "rm", "TZ", "tz",
)  # fmt: skip
_CASELESS = (
    "CC", "DDD", "DD", "D", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "HH24", "HH12", "HH", "IDDD", "ID", "IW", "IYYY",
    "IYY", "IY", "I", "J", "MI", "MM", "MS", "OF", "Q", "SSSSS", "SSSS", "SS", "TZH", "TZM", "US", "WW", "W", "Y,YYY",
    "YYYY", "YYY", "YY", "Y",
)  # fmt: skip
_KEYWORDS = sorted([*_SPELLED, *_CASELESS, *(word.lower() for word in _CASELESS)], key=len, reverse=True)
_KEYWORD = re.compile("|".join(map(re.escape, _KEYWORDS)))
_PREFIX = re.compile("FM|fm|TM|tm|FX|fx")


@dataclass(frozen=True, slots=True)
class TemplatePiece:
    """A keyword with its modifiers, or (keyword None) literal text.

    `quoted` tells text in quotes from separators. `fill` is false after FM; `ordinal` is TH, th or empty.
    """

    keyword: str | None
    text: str = ""
    quoted: bool = False
    fill: bool = True
    ordinal: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """The pieces in order; `exact` after a leading FX."""

    pieces: tuple[TemplatePiece, ...]
    exact: bool = False


@lru_cache(maxsize=512)
def read_template(text: str) -> Template:
    """The pieces of a template."""
    pieces: list[TemplatePiece] = []
    at = 0
    exact = False
    while at < len(text):
        fill, local = True, False
        prefix = _PREFIX.match(text, at)
        start = at
        while prefix:
            word = prefix[0].upper()
            exact = exact or word == "FX"
            fill = fill and word != "FM"
            local = local or word == "TM"
            at = prefix.end()
            prefix = _PREFIX.match(text, at)
        found = _KEYWORD.match(text, at)
        if found:
            at = found.end()
            ordinal = text[at : at + 2] if text[at : at + 2] in ("TH", "th") else ""
            at += len(ordinal)
            if text[at : at + 2] in ("SP", "sp"):
                raise FeatureNotSupported("the template modifier SP is not supported")
            keyword = found[0] if found[0] in _SPELLED else found[0].upper()
            # Names in the language of the locale, which is English, have no blanks after them.
            fill = fill and not (local and keyword.lower() in ("month", "mon", "day", "dy"))
            pieces.append(TemplatePiece(keyword, fill=fill, ordinal=ordinal))
        elif at == start:
            at = _literal(text, at, pieces)
    return Template(tuple(pieces), exact)


def _literal(text: str, at: int, pieces: list[TemplatePiece]) -> int:
    """Reads quoted text or one character, and returns where it ends."""
    quoted = text[at] == '"'
    literal, end = literal_at(text, at)
    pieces.extend(TemplatePiece(None, char, quoted=quoted) for char in literal)
    return end
