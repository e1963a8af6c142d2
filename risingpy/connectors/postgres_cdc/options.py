"""The options of a PostgreSQL source, as RisingWave names them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from risingpy.errors import FeatureNotSupported, InvalidParameterValue

CONNECT_SECONDS = 4
_NEEDED = ("hostname", "username", "database.name")
_SSL_MODES = {"disabled": "disable", "preferred": "prefer", "required": "require"}
_SSL_MODES.update((name, name) for name in ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"))
_BOOLEANS = {"true": True, "false": False}
_SLOT = re.compile(r"[a-z0-9_]{1,63}\Z")
# All values come as texts: they must not depend on the settings of the other database.
_SETTINGS = (
    "-c DateStyle=ISO -c IntervalStyle=postgres -c TimeZone=UTC -c extra_float_digits=3 -c bytea_output=hex"
    " -c statement_timeout=0 -c idle_in_transaction_session_timeout=0"
)


@dataclass(frozen=True, slots=True)
class PostgresCdcOptions:
    """`schema` is that of tables whose names have none. With `creates_publication`, tables are added to it, too."""

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
    left = dict(options)
    for name in _NEEDED:
        if not left.get(name):
            raise InvalidParameterValue(f"the postgres-cdc connector needs the option {name}")
    port = left.pop("port", "5432")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise InvalidParameterValue(f'invalid port "{port}"')
    mode = left.pop("ssl.mode", "prefer").lower()
    if mode not in _SSL_MODES:
        raise InvalidParameterValue(f'invalid ssl.mode "{mode}"', hint=f"Modes are {', '.join(_SSL_MODES)}.")
    creates = left.pop("publication.create.enable", "true").lower()
    if creates not in _BOOLEANS:
        raise InvalidParameterValue(f'publication.create.enable must be true or false, not "{creates}"')
    slot = left.pop("slot.name", "") or _new_slot()
    if not _SLOT.match(slot):
        hint = "A slot's name has lower-case letters, digits and underscores, at most 63 of them."
        raise InvalidParameterValue(f'invalid slot.name "{slot}"', hint=hint)
    followed = left.pop("auto.schema.change", "false").lower()
    if followed not in _BOOLEANS:
        raise InvalidParameterValue(f'auto.schema.change must be true or false, not "{followed}"')
    if _BOOLEANS[followed]:
        hint = "After a change of the other table's columns, drop the copy and create it again."
        raise FeatureNotSupported("auto.schema.change = 'true' is not supported", hint=hint)
    found = PostgresCdcOptions(
        host=left.pop("hostname"),
        port=int(port),
        user=left.pop("username"),
        password=left.pop("password", ""),
        database=left.pop("database.name"),
        schema=left.pop("schema.name", "public"),
        slot=slot,
        publication=left.pop("publication.name", "rw_publication"),
        creates_publication=_BOOLEANS[creates],
        ssl_mode=_SSL_MODES[mode],
    )
    if left:
        raise InvalidParameterValue(f'unknown option "{min(left)}" of the postgres-cdc connector')
    return found


def _new_slot() -> str:
    """RisingWave's name of a slot for a source that names none."""
    return f"rw_cdc_{uuid.uuid4().hex}"
