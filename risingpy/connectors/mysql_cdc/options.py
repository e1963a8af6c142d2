"""The options of a MySQL source, as RisingWave names them."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from risingpy.connectors.database_options import GivenOptionsOfDatabase
from risingpy.errors import InvalidParameterValue

CONNECT_SECONDS = 4
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
    given = GivenOptionsOfDatabase("mysql-cdc", dict(options))
    server = given.server(3306)
    mode = given.mode("ssl.mode", "disabled", _SSL_MODES)
    server_id = given.text("server.id")
    if server_id and not (server_id.isdecimal() and int(server_id) in _SERVER_IDS):
        raise InvalidParameterValue(f'invalid server.id "{server_id}"', hint="It is a number from 1 to 4294967295.")
    given.refuse_following()
    given.finish()
    return MysqlCdcOptions(
        host=server.host,
        port=server.port,
        user=server.user,
        password=server.password,
        database=server.database,
        server_id=int(server_id) if server_id else None,
        ssl_mode=mode,
    )
