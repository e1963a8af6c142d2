"""The options of COPY: checks, and defaults by format. PostgreSQL's rules (src/backend/commands/copy.c)."""

from __future__ import annotations

from collections.abc import Mapping

from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError
from risingpy.frontend.results import CopyFormat, CopyOptions

_BOOLEANS = {
    **dict.fromkeys(("", "true", "on", "1", "yes", "t", "y"), True),
    **dict.fromkeys(("false", "off", "0", "no", "f", "n"), False),
}
# A delimiter that could be part of a backslash escape or of \N.
_RESERVED_DELIMITERS = "\\.abcdefghijklmnopqrstuvwxyz0123456789"
_OF_COLUMNS = {"force_quote": "force quote", "force_not_null": "force not null", "force_null": "force null"}
_KNOWN = frozenset(("format", "freeze", "delimiter", "null", "header", "quote", "escape", "encoding", *_OF_COLUMNS))
_MATCH = "match"


def make_copy_options(options: Mapping[str, str | bool]) -> CopyOptions:
    """Options by lower-case name, values as written (`True` for an option without a value) → CopyOptions.

    Raises SyntaxError-like SqlErrors (42601), InvalidParameterValue (22023) and FeatureNotSupported, in
    PostgreSQL's words.
    """
    for name in options:
        if name not in _KNOWN:
            raise SqlError(f'option "{name}" not recognized', sqlstate="42601")
    format_ = _format(str(options.get("format", "text")))
    if "encoding" in options and str(options["encoding"]).lower().replace("-", "") != "utf8":
        raise FeatureNotSupported(f'COPY encoding "{options["encoding"]}" is not supported: use UTF8')
    _boolean("freeze", options.get("freeze", False))  # pgbench asks for it; rows are never stored unfrozen here
    given_header = options.get("header", False)
    matches_header = str(given_header).lower() == _MATCH
    header = matches_header or _boolean("header", given_header)
    csv = format_ is CopyFormat.CSV
    if format_ is CopyFormat.BINARY:
        for name in ("delimiter", "null"):
            if name in options:
                raise SqlError(f"cannot specify {name.upper()} in BINARY mode", sqlstate="42601")
        if header:
            raise FeatureNotSupported("cannot specify HEADER in BINARY mode")
        _check_columns(options, csv=False)
        return CopyOptions(format_)
    quote = str(options.get("quote", '"'))
    made = CopyOptions(
        format_,
        delimiter=str(options.get("delimiter", "," if csv else "\t")),
        null=str(options.get("null", "" if csv else "\\N")),
        header=header,
        quote=quote,
        escape=str(options.get("escape", quote)),
        force_quote=None if options.get("force_quote") == "*" else _columns(options, "force_quote"),
        force_not_null=_columns(options, "force_not_null"),
        force_null=_columns(options, "force_null"),
        matches_header=matches_header,
    )
    _check(made, options)
    return made


def _format(word: str) -> CopyFormat:
    try:
        return CopyFormat(word.lower())
    except ValueError:
        raise InvalidParameterValue(f'COPY format "{word}" not recognized') from None


def _boolean(name: str, value: str | bool) -> bool:
    if isinstance(value, bool):
        return value
    if value.lower() not in _BOOLEANS:
        raise SqlError(f'{name} requires a Boolean value or "match"', sqlstate="42601")
    return _BOOLEANS[value.lower()]


def _columns(options: Mapping[str, str | bool], name: str) -> frozenset[str]:
    """The columns in a list as the parser gives it."""
    return frozenset(filter(None, str(options.get(name, "")).split(", ")))


def _check_columns(given: Mapping[str, str | bool], *, csv: bool) -> None:
    for name, words in _OF_COLUMNS.items():
        if name in given and not csv:
            raise FeatureNotSupported(f"COPY {words} available only in CSV mode")


def _check(made: CopyOptions, given: Mapping[str, str | bool]) -> None:
    csv = made.format is CopyFormat.CSV
    if len(made.delimiter) != 1 or not made.delimiter.isascii():
        raise FeatureNotSupported("COPY delimiter must be a single one-byte character")
    if made.delimiter in "\r\n":
        raise InvalidParameterValue("COPY delimiter cannot be newline or carriage return")
    if "\r" in made.null or "\n" in made.null:
        raise InvalidParameterValue("COPY null representation cannot use newline or carriage return")
    if not csv and made.delimiter in _RESERVED_DELIMITERS:
        raise InvalidParameterValue(f'COPY delimiter cannot be "{made.delimiter}"')
    for name in ("quote", "escape"):
        if name in given and not csv:
            raise FeatureNotSupported(f"COPY {name} available only in CSV mode")
    _check_columns(given, csv=csv)
    if len(made.quote) != 1 or not made.quote.isascii():
        raise FeatureNotSupported("COPY quote must be a single one-byte character")
    if len(made.escape) != 1 or not made.escape.isascii():
        raise FeatureNotSupported("COPY escape must be a single one-byte character")
    if csv and made.delimiter == made.quote:
        raise InvalidParameterValue("COPY delimiter and quote must be different")
    if made.delimiter in made.null:
        raise FeatureNotSupported("COPY delimiter must not appear in the NULL specification")
    if csv and made.quote in made.null:
        raise FeatureNotSupported("CSV quote character must not appear in the NULL specification")
