"""One statement of those that make a catalog anew."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from risingpy.frontend.table_definition import quoted
from risingpy.plan.catalog import BOOTSTRAP_ROLE_ID, DEFAULT_DATABASE_ID, Catalog
from risingpy.plan.catalog.databases import DEFAULT_DATABASE
from risingpy.plan.catalog.roles import BOOTSTRAP_NAME


class Chapter(Enum):
    """When a statement runs. The rows of tables are loaded between TABLES and VIEWS."""

    SERVER = "server"  # roles, databases, settings
    TABLES = "tables"  # schemas, tables, and what these need
    VIEWS = "views"  # what reads tables, and what is checked over their rows
    RIGHTS = "rights"  # owners, grants, comments


@dataclass(frozen=True, slots=True)
class Definition:
    """A statement, without a semicolon, of the database and for the search path with which its names are found.

    `rows` is, for a table whose rows nothing else brings back, the query that reads them, in the order in which they
    are to be loaded.
    """

    part: Chapter
    database: str
    kind: str
    name: str
    text: str
    search_path: tuple[str, ...] = ()
    rows: str | None = None


def role_name(catalog: Catalog, role_id: int) -> str:
    """The role as a statement has it. The first superuser has the name that every new database gives it."""
    return quoted(BOOTSTRAP_NAME if role_id == BOOTSTRAP_ROLE_ID else catalog.roles[role_id].name)


def database_name(catalog: Catalog, database_id: int) -> str:
    """The database's name; of the first one that which every new directory gives it."""
    return DEFAULT_DATABASE if database_id == DEFAULT_DATABASE_ID else catalog.databases[database_id].name
