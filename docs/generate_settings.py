"""Writes docs/sql/settings.md from the definitions of run-time parameters; a test compares the two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from risingpy.frontend.parameters.accepted import ACCEPTED
from risingpy.frontend.parameters.definitions import ALIASES, DEFINITIONS, ParameterDefinition
from risingpy.frontend.parameters.kinds import read_only

PAGE = Path(__file__).parent / "sql" / "settings.md"

HEAD = """\
# Settings

Written by `docs/generate_settings.py` from `risingpy/frontend/parameters/definitions.py`: change that, not this page.

`SET name = value`, `SET name TO DEFAULT`, `RESET name`, `RESET ALL`, `SHOW name`, `SHOW ALL`, and at startup the
connection's options. A setting lasts as long as its session. A name with a point in it is the client's own.
"""

VISIBILITY = """\
`visibility_mode`: with `strict`, a SELECT waits for the epoch that holds the last write which any session had made to the
tables below its relations; with `read_your_writes`, for that of the session's own last write; with `checkpoint` it
reads the newest epoch at once. `default` and `all`, RisingWave's words, mean `strict`.
`rw_implicit_flush` is about statements outside transactions.
"""


def page() -> str:
    """The whole page."""
    fixed = [d for d in DEFINITIONS if d.check is read_only and not d.ignored]
    ignored = [d for d in DEFINITIONS if d.ignored]
    accepted = [d for d in ignored if d.name in {name for name, _, _ in ACCEPTED}]
    others = [d for d in DEFINITIONS if d not in fixed and d not in ignored]
    return "\n".join(
        [
            HEAD,
            *_table(others),
            VISIBILITY,
            "## That cannot be changed\n",
            *_table(fixed),
            "## RisingWave's, without effect\n",
            f"SET takes them and says so in a notice: {_names(d for d in ignored if d not in accepted)}.\n",
            "## PostgreSQL's, without effect\n",
            f"SET takes them and says so in a notice: {_names(accepted)}.",
            "",
        ]
    )


def _names(definitions: Iterable[ParameterDefinition]) -> str:
    return ", ".join(f"`{definition.name}`" for definition in definitions)


def _table(definitions: Iterable[ParameterDefinition]) -> Iterator[str]:
    yield "| name | default | what |\n|---|---|---|"
    for definition in definitions:
        aliases = [f"`{alias}`" for alias, name in ALIASES.items() if name == definition.name]
        names = ", ".join([f"`{definition.name}`", *aliases])
        yield f"| {names} | `{definition.default or ' '}` | {definition.description} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
