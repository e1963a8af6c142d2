"""Statements about subscriptions: CREATE SUBSCRIPTION, subscription cursors, SUBSCRIBE."""

from risingpy.frontend.parser.subscriptions.subscribe import parse_subscribe
from risingpy.frontend.parser.subscriptions.subscription import (
    parse_create_subscription,
    parse_subscription_cursor,
    parse_timeout,
)

__all__ = ["parse_create_subscription", "parse_subscribe", "parse_subscription_cursor", "parse_timeout"]
