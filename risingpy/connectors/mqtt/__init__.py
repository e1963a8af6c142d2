"""Topics of an MQTT broker, into a table: `connector = 'mqtt'`.

options     what WITH says
session     a subscription of the broker's, and its messages as they come
connector   the thread: messages go to the log, and are acknowledged when they are there

A broker keeps a client's session, and for it the messages that were not acknowledged. So the client has a name of its
own for as long as the table is there, and acknowledges a message after the log's fsync.
"""

from risingpy.connectors.mqtt.connector import MqttConnector as MqttConnector
