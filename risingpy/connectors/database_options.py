"""The options that sources of databases share: where the server is, and what is checked of each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from risingpy.errors import FeatureNotSupported, InvalidParameterValue

_NEEDED = ("hostname", "username", "database.name")


@dataclass(frozen=True, slots=True)
class DatabaseServer:
    """Where a database is, and who connects."""

    host: str
    port: int
    user: str
    password: str
    database: str


class GivenOptionsOfDatabase:
    """The options of WITH, which are taken one after the other. Wrong ones raise InvalidParameterValue."""

    def __init__(self, connector: str, options: dict[str, str]) -> None:
        self._connector = connector
        self._left = options

    def server(self, default_port: int) -> DatabaseServer:
        """Takes what says where the database is."""
        for name in _NEEDED:
            if not self._left.get(name):
                raise InvalidParameterValue(f"the {self._connector} connector needs the option {name}")
        port = self.text("port", str(default_port))
        if not port.isdecimal() or not 0 < int(port) < 65536:
            raise InvalidParameterValue(f'invalid port "{port}"')
        host, user = self.text("hostname"), self.text("username")
        return DatabaseServer(host, int(port), user, self.text("password"), self.text("database.name"))

    def text(self, name: str, default: str = "") -> str:
        """Takes an option."""
        return self._left.pop(name, default)

    def mode(self, name: str, default: str, modes: Collection[str]) -> str:
        """Takes an option that is one of these, in lower case."""
        mode = self.text(name, default).lower()
        if mode not in modes:
            raise InvalidParameterValue(f'invalid {name} "{mode}"', hint=f"Modes are {', '.join(modes)}.")
        return mode

    def flag(self, name: str, default: str) -> bool:
        """Takes an option that is true or false."""
        value = self.text(name, default).lower()
        if value not in ("true", "false"):
            raise InvalidParameterValue(f'{name} must be true or false, not "{value}"')
        return value == "true"

    def refuse_following(self) -> None:
        """Takes auto.schema.change. Raises FeatureNotSupported if copies are to follow changes of columns."""
        if self.flag("auto.schema.change", "false"):
            hint = (
                "After a change of the other table's columns, drop the copy and create it again. "
                "Copies of a postgres-cdc source can follow them."
            )
            message = f"auto.schema.change = 'true' is not supported by the {self._connector} connector"
            raise FeatureNotSupported(message, hint=hint)

    def finish(self) -> None:
        """Nothing may be left."""
        if self._left:
            raise InvalidParameterValue(f'unknown option "{min(self._left)}" of the {self._connector} connector')
