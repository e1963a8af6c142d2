"""The options of a sink, checked: `WITH (…)` for a target, and those of FORMAT … ENCODE … (…) for an encoder."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from risingpy.connectors.secret_options import masked_text
from risingpy.errors import InvalidParameterValue

ENGINE_OPTIONS = frozenset(
    {
        "connector",
        "type",
        "primary_key",
        "force_append_only",
        "ignore_delete",
        "snapshot",
        "since_timestamp",
        "sink_rate_limit",
        "sink_decouple",
        "commit_checkpoint_interval",
        "backlog.limit",
    }
)
"""Options that mean the same for every sink: see `engine_options.py`."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options by name. `owner` is what errors call the thing that they are for: `the kafka sink`."""

    owner: str
    values: Mapping[str, str]

    def refuse_unknown(self, known: Collection[str], prefixes: tuple[str, ...] = ()) -> None:
        """Raises InvalidParameterValue for an option that is none of these, of the engine, or of these prefixes."""
        for name in self.values:
            if name not in known and name not in ENGINE_OPTIONS and not name.startswith(prefixes):
                hint = f"Options are {', '.join(sorted(known))}."
                raise InvalidParameterValue(f'unknown option "{name}" of {self.owner}', hint=hint)

    def required(self, name: str) -> str:
        """The option's value. Raises InvalidParameterValue if it is missing or empty."""
        value = self.values.get(name, "")
        if not value:
            raise InvalidParameterValue(f"{self.owner} needs the option {name}")
        return value

    def text(self, name: str, default: str = "") -> str:
        return self.values.get(name, default)

    def one_of(self, name: str, choices: Collection[str], default: str) -> str:
        """The value in lower case. Raises InvalidParameterValue if it is none of the choices."""
        value = self.values.get(name, default).lower()
        if value not in choices:
            hint = f"Values are {', '.join(sorted(choices))}."
            raise InvalidParameterValue(f'invalid value "{value}" of the option {name}', hint=hint)
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        return self.one_of(name, ("true", "false"), "true" if default else "false") == "true"

    def number(self, name: str, default: int, *, least: int = 0, most: int = 2**31 - 1) -> int:
        """A whole number within bounds. Raises InvalidParameterValue for what is none."""
        value = self.values.get(name, str(default))
        if not re.fullmatch(r"[0-9]{1,10}", value) or not least <= int(value) <= most:
            hint = f"It is a whole number from {least} to {most}."
            raise InvalidParameterValue(f'invalid value "{value}" of the option {name}', hint=hint)
        return int(value)

    def masked(self, text: str) -> str:
        """`text` without the values of options that are secrets: a library may repeat them in its errors."""
        return masked_text(text, self.values)
