"""Functions and operators of PostgreSQL's that are not there, refused by name with what to do instead."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import FeatureNotSupported

TEXT_SEARCH = "LIKE and regular expressions search texts; a sink can feed a system that searches by words."
_GEOMETRY = "Keep coordinates in columns of double precision, or in a vector(n)."

_HINTS = {
    TEXT_SEARCH: """
    array_to_tsvector get_current_ts_config json_to_tsvector jsonb_to_tsvector length_tsvector numnode phraseto_tsquery
    plainto_tsquery querytree setweight strip to_tsquery to_tsvector ts_debug ts_delete ts_filter ts_headline ts_lexize
    ts_parse ts_rank ts_rank_cd ts_rewrite ts_stat tsquery_phrase tsvector_to_array websearch_to_tsquery
    """,
    _GEOMETRY: "point box circle line lseg path polygon",
}
_HINT_OF = {name: hint for hint, names in _HINTS.items() for name in names.split()}
_OPERATORS = {"@@": TEXT_SEARCH, "@@@": TEXT_SEARCH, "<<|": _GEOMETRY, "|>>": _GEOMETRY}


def absent_function(name: str, position: int) -> FeatureNotSupported | None:
    """The error of a function that PostgreSQL has and we have not; None of a name that means nothing there either."""
    return _refused(f"function {name}", _HINT_OF.get(name.lower()), position)


def absent_operator(symbol: str, types: Sequence[str], position: int) -> FeatureNotSupported | None:
    """As `absent_function`, of an operator between operands of these types."""
    return _refused(f"operator {symbol} of {' and '.join(types)}", _OPERATORS.get(symbol), position)


def _refused(what: str, hint: str | None, position: int) -> FeatureNotSupported | None:
    return None if hint is None else FeatureNotSupported(f"{what} is not supported", position=position, hint=hint)
