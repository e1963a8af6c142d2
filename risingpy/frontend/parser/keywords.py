"""PostgreSQL's reserved words: no column or table may have such a name unless it is quoted."""

from __future__ import annotations

# Those that are expressions by themselves (case, null, current_date, user, …) are left out: their parsers come first.
RESERVED = frozenset(
    """
    all analyse analyze and as asc asymmetric both cast check collate column constraint create default deferrable
    desc distinct do else end except fetch for foreign from grant group having in initially intersect into lateral
    leading limit not offset on only or order placing primary references returning select some symmetric table
    then to trailing union unique using variadic when where window with
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)
