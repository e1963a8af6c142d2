"""The one place that makes names and texts parts of an SQL statement: everywhere else, a test refuses to.

DuckDB, PostgreSQL and MySQL read the results of these as one token each, whatever the texts have in them. A character 0
cannot stand in any statement: who takes a text from outside refuses it.
"""

from __future__ import annotations


def quoted_text(text: str) -> str:
    """A string literal. For PostgreSQL with standard_conforming_strings, which is its default, and for DuckDB."""
    return "'" + text.replace("'", "''") + "'"


def double_quoted(name: str) -> str:
    """A name, which keeps its case."""
    return '"' + name.replace('"', '""') + '"'


def back_quoted(name: str) -> str:
    """A name for MySQL, MariaDB and DataFusion."""
    return "`" + name.replace("`", "``") + "`"
