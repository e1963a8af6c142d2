"""rw_definitions: statements that make all databases of the server anew, in order. For superusers."""

from __future__ import annotations

from risingpy.frontend.system_catalog.system_relation import relation

RW_DEFINITIONS = relation(
    "rw_catalog",
    "rw_definitions",
    "position int4, part text, database_name text, search_path _text, kind text, name text, definition text,"
    "rows_query text",
    lambda state: state.definitions(),
)
