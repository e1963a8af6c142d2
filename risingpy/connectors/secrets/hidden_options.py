"""What of a connector's options is not in clear. These values are stored, with relations and connections."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.connectors.formats.decoder import MessageFormat


@dataclass(frozen=True, slots=True)
class SealedOption:
    """An option with its sealed value. `of_format`: it stands after ENCODE, and not in WITH.

    `as_file`: the connector gets the path of a file that has the value.
    """

    name: str
    box: bytes
    of_format: bool = False
    as_file: bool = False


@dataclass(frozen=True, slots=True)
class SecretOption:
    """An option whose value is that of a secret, `name = SECRET s [AS FILE]`. The rest is as in `SealedOption`."""

    name: str
    secret_id: int
    of_format: bool = False
    as_file: bool = False


@dataclass(frozen=True, slots=True)
class ConnectionOption:
    """`connection = c`: all options of a connection."""

    connection_id: int
    of_format: bool = False


@dataclass(frozen=True, slots=True)
class HiddenOptions:
    """The options that do not stand among a relation's `options`, nor among those of its format."""

    sealed: tuple[SealedOption, ...] = ()
    secrets: tuple[SecretOption, ...] = ()
    connections: tuple[ConnectionOption, ...] = ()

    @property
    def is_resolved(self) -> bool:
        """Whether nothing but the key is needed to open them."""
        return not self.secrets and not self.connections


NOTHING_HIDDEN = HiddenOptions()


@dataclass(frozen=True, slots=True)
class StoredOptions:
    """All that a source or sink stores of its options."""

    options: tuple[tuple[str, str], ...]
    message_format: MessageFormat | None = None
    hidden: HiddenOptions = NOTHING_HIDDEN
