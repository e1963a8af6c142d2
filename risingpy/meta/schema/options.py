"""Other values of a connector's options: ALTER SOURCE, TABLE, SINK and CONNECTION … CONNECTOR WITH (…)."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.connectors.secrets.hidden_options import NOTHING_HIDDEN, HiddenOptions


@dataclass(frozen=True, slots=True)
class OptionChanges:
    """Options of WITH with their new values: those in clear, and the others. `texts` has each as SQL shows it."""

    options: tuple[tuple[str, str], ...]
    hidden: HiddenOptions = NOTHING_HIDDEN
    texts: tuple[tuple[str, str], ...] = ()


def with_changes(
    options: tuple[tuple[str, str], ...], hidden: HiddenOptions, changes: OptionChanges
) -> tuple[tuple[tuple[str, str], ...], HiddenOptions]:
    """The options with their new values; an option may have been hidden before and be in clear now."""
    more = changes.hidden
    concealed = {each.name for each in more.sealed} | {each.name for each in more.secrets}
    changed = concealed | {name for name, _ in changes.options}
    sealed = (each for each in hidden.sealed if each.of_format or each.name not in changed)
    secrets = (each for each in hidden.secrets if each.of_format or each.name not in changed)
    clear = {name: value for name, value in options if name not in concealed} | dict(changes.options)
    return tuple(clear.items()), HiddenOptions((*sealed, *more.sealed), (*secrets, *more.secrets), hidden.connections)
