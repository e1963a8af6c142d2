"""A table's whole name, `schema.table`, as CREATE TABLE … TABLE '…' gives it, and as the catalog and errors have it.

A part that has a dot, or begins with a quote, stands in double quotes: so no two tables have one whole name.
"""

from __future__ import annotations

import re

from risingpy.sql_quoting import double_quoted

_QUOTED = r'"(?:[^"]|"")+"'
# A dot beside a quoted part comes first: in `public."a.b"` the last dot is in the table's name.
_WAYS = tuple(re.compile(way, re.DOTALL) for way in (rf"({_QUOTED})\.(.+)", rf"(.*?)\.({_QUOTED})", r"(.*)\.([^.]*)"))


def whole_name(schema: str, table: str) -> str:
    """The name of a table of a schema."""
    return f"{_shown(schema)}.{_shown(table)}"


def parts_of(name: str, schema: str) -> tuple[str, str]:
    """The schema and the table that a name means; `schema` is that of a name without one.

    A dot outside of quotes ends the schema; the last one, if there are several.
    """
    if re.fullmatch(_QUOTED, name):
        return schema, _meant(name)
    found = next((found for way in _WAYS if (found := way.fullmatch(name))), None)
    return (schema, name) if found is None else (_meant(found[1]) or schema, _meant(found[2]))


def _shown(part: str) -> str:
    return double_quoted(part) if "." in part or part.startswith('"') else part


def _meant(part: str) -> str:
    return part[1:-1].replace('""', '"') if re.fullmatch(_QUOTED, part) else part
