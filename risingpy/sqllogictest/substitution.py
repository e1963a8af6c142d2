"""Variables in records, between `control substitution on` and `off`.

`$NAME` and `${NAME}` stand for the run's own variables (`__TEST_DIR__`, a directory that is the file's alone;
`__SCHEMA__`) or the environment's; `${NAME:default}` for the default if there is none; `\\$` for a dollar sign.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_VARIABLE = re.compile(r"\\\$|\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?::(?P<default>[^}]*))?\})")


class UnknownVariable(Exception):
    """A variable has no value and no default: the file's author must correct it, or the environment must set it."""


def substitute(text: str, variables: Mapping[str, str]) -> str:
    """The text with every variable replaced. Raises UnknownVariable."""

    def value(match: re.Match[str]) -> str:
        if match.group() == "\\$":
            return "$"
        name = match.group("plain") or match.group("braced")
        found = variables.get(name, match.group("default"))
        if found is None:
            raise UnknownVariable(f"variable {name!r} is not set")
        return found

    return _VARIABLE.sub(value, text)
