"""PostgreSQL's reserved words, which no column or table may have as names unless quoted; kinds of objects."""

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
# Binary operators that sqlglot has nodes of its own for, or none.
SYMBOLS = frozenset("^@ -> ->> #> #>> @> <@ && ? ?| ?& #- @? @@ <-> <#> <=> <+> <<= >>= &< &> -|-".split())  # noqa: SIM905
# What PostgreSQL creates and drops, and this version does not: refused by name.
OTHER_OBJECTS = frozenset(
    """
    CAST COLLATION EVENT EXTENSION FOREIGN LANGUAGE OPERATOR POLICY
    PUBLICATION RULE SERVER STATISTICS TRIGGER
    """.split()  # noqa: SIM905
)
