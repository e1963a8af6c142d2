"""The options of a MySQL source, as RisingWave names them."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from risingpy.errors import InvalidParameterValue

CONNECT_SECONDS = 4
_NEEDED = ("hostname", "username", "database.name")
_SSL_MODES = ("disabled", "required", "verify_ca", "verify_identity")
_SERVER_IDS = range(1, 2**32)


@dataclass(frozen=True, slots=True)
class MysqlCdcOptions:
    """`database` is that of tables whose names have none.

    `server_id` differs from those of all other replicas. If it is None, each stream takes another one, by chance.
    """

    host: str
    port: int
    user: str
    password: str
    database: str
    server_id: int | None
    ssl_mode: str

    def connection(self) -> dict[str, Any]:
        """What PyMySQL's `connect` takes."""
        found: dict[str, Any] = {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "connect_timeout": CONNECT_SECONDS,
            "charset": "utf8mb4",
            "autocommit": True,
            "init_command": "SET time_zone = '+00:00', sql_mode = ''",
        }
        if self.ssl_mode == "disabled":
            found["ssl_disabled"] = True
        else:
            context = ssl.create_default_context()
            context.check_hostname = self.ssl_mode == "verify_identity"
            if self.ssl_mode == "required":
                context.verify_mode = ssl.CERT_NONE
            found["ssl"] = context
        return found


def mysql_cdc_options(options: Mapping[str, str]) -> MysqlCdcOptions:
    """The checked options. Raises InvalidParameterValue for one that is missing, unknown or wrong."""
    left = dict(options)
    for name in _NEEDED:
        if not left.get(name):
            raise InvalidParameterValue(f"the mysql-cdc connector needs the option {name}")
    port = left.pop("port", "3306")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise InvalidParameterValue(f'invalid port "{port}"')
    mode = left.pop("ssl.mode", "disabled").lower()
    if mode not in _SSL_MODES:
        raise InvalidParameterValue(f'invalid ssl.mode "{mode}"', hint=f"Modes are {', '.join(_SSL_MODES)}.")
    server_id = left.pop("server.id", None)
    if server_id is not None and not (server_id.isdecimal() and int(server_id) in _SERVER_IDS):
        raise InvalidParameterValue(f'invalid server.id "{server_id}"', hint="It is a number from 1 to 4294967295.")
    found = MysqlCdcOptions(
        host=left.pop("hostname"),
        port=int(port),
        user=left.pop("username"),
        password=left.pop("password", ""),
        database=left.pop("database.name"),
        server_id=None if server_id is None else int(server_id),
        ssl_mode=mode,
    )
    if left:
        raise InvalidParameterValue(f'unknown option "{min(left)}" of the mysql-cdc connector')
    return found
