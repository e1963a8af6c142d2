"""A source's or sink's options with all values in clear. They never leave the process, nor get into a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from risingpy.connectors.formats.decoder import MessageFormat, with_more_options
from risingpy.connectors.secret_options import MASK, masked_text, masked_value
from risingpy.connectors.secrets.hidden_options import HiddenOptions, SealedOption, StoredOptions
from risingpy.connectors.secrets.vault import Vault
from risingpy.errors import SqlError

_SHORTEST = 3  # a shorter value stands in too many words: its mask would make a riddle of an error


class Connected(Protocol):
    """A relation that another system feeds or gets, whose secrets and connections are resolved."""

    @property
    def options(self) -> tuple[tuple[str, str], ...]: ...

    @property
    def message_format(self) -> MessageFormat | None: ...

    @property
    def hidden(self) -> HiddenOptions: ...


@dataclass(frozen=True, slots=True)
class OpenedOptions:
    """The options of WITH by name, and the format with its options. `secrets` are the values that were hidden."""

    options: Mapping[str, str] = field(repr=False)
    message_format: MessageFormat | None = field(default=None, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def masked(self, text: str) -> str:
        """`text`, such as the error of a library, without any value that is secret."""
        for value in sorted(self.secrets, key=len, reverse=True):  # one may be the beginning of another
            if len(value) >= _SHORTEST:
                text = text.replace(value, MASK)
        of_format = () if self.message_format is None else self.message_format.options
        return masked_text(text, dict((*of_format, *self.options.items())))

    @contextmanager
    def masked_errors(self) -> Iterator[None]:
        """An SqlError of the block has no secret values in its texts."""
        try:
            yield
        except SqlError as error:
            error.rewrite(self.masked)
            raise


NOTHING_OPENED = OpenedOptions({})


def opened(vault: Vault, relation: Connected) -> OpenedOptions:
    """The relation's options in clear. Raises SecretKeyUnavailable."""
    assert relation.hidden.is_resolved, "secrets and connections are resolved by the catalog"
    message_format, options = relation.message_format, dict(relation.options)
    if not relation.hidden.sealed:
        return OpenedOptions(options, message_format)
    values: list[str] = []
    of_format: list[tuple[str, str]] = []
    for each in relation.hidden.sealed:
        value = vault.file_of(each.box) if each.as_file else vault.open(each.box)
        values.append(value)
        if each.of_format:
            of_format.append((each.name, value))
        else:
            options[each.name] = value
    return OpenedOptions(options, with_more_options(message_format, tuple(of_format)), tuple(values))


def sealed(vault: Vault, stored: StoredOptions) -> StoredOptions:
    """The options with those in clear sealed that are secrets, or have one inside. The same object if none is."""
    options, found = _sealed(vault, stored.options, of_format=False)
    message_format = stored.message_format
    if message_format is not None:
        of_format, more = _sealed(vault, message_format.options, of_format=True)
        found += more
        message_format = replace(message_format, options=of_format) if more else message_format
    if not found:
        return stored
    hidden = replace(stored.hidden, sealed=(*stored.hidden.sealed, *found))
    return StoredOptions(options, message_format, hidden)


def _sealed(
    vault: Vault, options: tuple[tuple[str, str], ...], *, of_format: bool
) -> tuple[tuple[tuple[str, str], ...], list[SealedOption]]:
    """(The options that may stand in clear, the others)."""
    clear = tuple((name, value) for name, value in options if masked_value(name, value) == value)
    kept = {name for name, _ in clear}
    return clear, [SealedOption(name, vault.seal(value), of_format) for name, value in options if name not in kept]
