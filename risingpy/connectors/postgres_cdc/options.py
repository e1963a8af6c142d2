"""The options of a PostgreSQL source, as RisingWave names them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from risingpy.connectors.database_options import GivenOptionsOfDatabase
from risingpy.errors import InvalidParameterValue

CONNECT_SECONDS = 4
_SSL_MODES = {"disabled": "disable", "preferred": "prefer", "required": "require"}
_SSL_MODES.update((name, name) for name in ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"))
_SLOT = re.compile(r"[a-z0-9_]{1,63}\Z")
# All values come as texts: they must not depend on the settings of the other database.
_SETTINGS = (
    "-c DateStyle=ISO -c IntervalStyle=postgres -c TimeZone=UTC -c extra_float_digits=3 -c bytea_output=hex"
    " -c statement_timeout=0 -c idle_in_transaction_session_timeout=0"
)


@dataclass(frozen=True, slots=True)
class PostgresCdcOptions:
    """`schema` is that of tables whose names have none. With `creates_publication`, tables are added to it, too.

    With `follows_columns`, copies that have all columns get those that are added upstream, and lose those that go.
    """

    host: str
    port: int
    user: str
    password: str
    database: str
    schema: str
    slot: str
    publication: str
    creates_publication: bool
    ssl_mode: str
    follows_columns: bool

    def connection(self) -> dict[str, Any]:
        """What psycopg's `connect` takes."""
        found = {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "dbname": self.database,
            "sslmode": self.ssl_mode,
            "connect_timeout": CONNECT_SECONDS,
            "client_encoding": "UTF8",
            "application_name": "risingpy",
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "options": _SETTINGS,
        }
        return {name: value for name, value in found.items() if value != ""}


def postgres_cdc_options(options: Mapping[str, str]) -> PostgresCdcOptions:
    """The checked options. Raises InvalidParameterValue for one that is missing, unknown or wrong."""
    given = GivenOptionsOfDatabase("postgres-cdc", dict(options))
    server = given.server(5432)
    mode = given.mode("ssl.mode", "prefer", _SSL_MODES)
    creates = given.flag("publication.create.enable", "true")
    slot = given.text("slot.name") or _new_slot()
    if not _SLOT.match(slot):
        hint = "A slot's name has lower-case letters, digits and underscores, at most 63 of them."
        raise InvalidParameterValue(f'invalid slot.name "{slot}"', hint=hint)
    schema, publication = given.text("schema.name", "public"), given.text("publication.name", "rw_publication")
    follows_columns = given.flag("auto.schema.change", "false")
    given.finish()
    return PostgresCdcOptions(
        host=server.host,
        port=server.port,
        user=server.user,
        password=server.password,
        database=server.database,
        schema=schema,
        slot=slot,
        publication=publication,
        creates_publication=creates,
        ssl_mode=_SSL_MODES[mode],
        follows_columns=follows_columns,
    )


def _new_slot() -> str:
    """RisingWave's name of a slot for a source that names none."""
    return f"rw_cdc_{uuid.uuid4().hex}"
