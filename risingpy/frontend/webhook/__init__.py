"""Webhooks: HTTP requests that add rows to tables WITH (connector = 'webhook').

    server.py    listens, reads requests within limits of size and time, and answers
    receive.py   checks a request with the table's VALIDATE, and writes its rows

In: POST /webhook/database/schema/table. Out: 200 after the rows are durable, or the reason why not.
"""

from risingpy.frontend.webhook.server import WebhookServer

__all__ = ["WebhookServer"]
