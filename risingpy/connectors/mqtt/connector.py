"""The connector: what CREATE TABLE asks, and the loop of its thread."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping

from risingpy.connectors.mqtt.options import CLIENT, mqtt_options
from risingpy.connectors.mqtt.session import MqttSession, messages_of, mqtt_errors
from risingpy.connectors.mqtt_client import connect, disconnect, mqtt_client
from risingpy.connectors.pushed import PushedRows, UpstreamDescription
from risingpy.errors import FeatureNotSupported, SourceUnavailable
from risingpy.sql_quoting import quoted_text

_MOST = 10_000  # messages of one group
_WAIT_SECONDS = 0.05
_LOST = "the broker has not kept the session: messages that came while nobody was connected may be missing"


class MqttConnector:
    """`connector = 'mqtt'`. At least once: a message is acknowledged when it is in the log.

    The offset is how many messages the log has had. It numbers rows, and the broker knows nothing of it.
    """

    name = "mqtt"
    gives_messages = True

    def __init__(self, options: Mapping[str, str]) -> None:
        """Raises InvalidParameterValue if an option is missing, unknown or wrong."""
        self._options = mqtt_options(options)

    def options_at_creation(self) -> Mapping[str, str]:
        return {CLIENT: self._options.client or f"{self._options.client_prefix}-{uuid.uuid4().hex[:16]}"}

    def check(self, *, is_followed: bool = False) -> None:
        client = mqtt_client(self._options.address)
        with mqtt_errors():
            connect(client, self._options.address)
        disconnect(client)

    def describe(self, upstream: str) -> UpstreamDescription:
        hint = (
            f"CREATE TABLE t (…) WITH (connector = 'mqtt', topic = {quoted_text(upstream)}, …) FORMAT PLAIN ENCODE JSON"
        )
        raise FeatureNotSupported("an mqtt broker has no tables to be copied", hint=hint)

    def run(self, rows: PushedRows, stopping: threading.Event) -> None:
        session = MqttSession(self._options)
        try:
            self._receive(session, rows, stopping)
        finally:
            session.close()

    def forget(self) -> None:
        """Has the broker drop the session, and what it keeps for it."""
        client = mqtt_client(self._options.address, self._options.client)
        with mqtt_errors():
            connect(client, self._options.address)
        disconnect(client)

    def _receive(self, session: MqttSession, rows: PushedRows, stopping: threading.Event) -> None:
        before = rows.last_offset()
        position = int(before or 0)
        tables = rows.tables()
        if tables and not session.is_kept and not tables[0].is_new:
            rows.noted({tables[0].table_id: _LOST})
        while not stopping.is_set():
            for table in rows.tables():
                if table.is_new:
                    rows.taken_in(table.table_id)
            asked = rows.asked()
            taken = session.take(_MOST, _WAIT_SECONDS)
            if taken:
                group = rows.group()
                for table in rows.tables():
                    group.add_messages(table.table_id, messages_of(taken, position))
                position += len(taken)
                group.commit(str(position))
                session.acknowledge(taken)
            elif not session.is_connected:
                raise SourceUnavailable("MQTT: the connection is lost")
            rows.progress(position, position, asked)
