"""CREATE SUBSCRIPTION, and what DECLARE and FETCH say of subscription cursors."""

from __future__ import annotations

from risingpy.frontend.parser.ast import CreateSubscription, DeclareSubscriptionCursor, SubscriptionStart
from risingpy.frontend.parser.connectors.source import OptionsReader
from risingpy.frontend.parser.cursor import Cursor


def parse_create_subscription(cursor: Cursor) -> CreateSubscription:
    """`[IF NOT EXISTS] name FROM relation [WITH (…)]`."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.object_name()
    cursor.expect("FROM")
    relation = cursor.object_name()
    reader = OptionsReader(cursor)
    options = reader.read() if cursor.accept("WITH") else ()
    return CreateSubscription(name, relation, options, if_not_exists, tuple(reader.places))


def parse_subscription_cursor(cursor: Cursor, name: str) -> DeclareSubscriptionCursor:
    """`CURSOR FOR subscription [SINCE now() | begin() | milliseconds | FULL]`, after DECLARE name SUBSCRIPTION."""
    cursor.expect("CURSOR", "FOR")
    subscription = cursor.object_name()
    if cursor.accept("FULL"):
        return DeclareSubscriptionCursor(name, subscription, SubscriptionStart.FULL)
    if not cursor.accept("SINCE"):
        return DeclareSubscriptionCursor(name, subscription)
    for start in (SubscriptionStart.NOW, SubscriptionStart.BEGIN):
        if cursor.accept(start.name):
            cursor.expect("(", ")")
            return DeclareSubscriptionCursor(name, subscription, start)
    position, text = cursor.position, cursor.value()
    if not text.isdigit():
        cursor.fail_with(f'syntax error at or near "{text}": SINCE takes now(), begin() or milliseconds', position)
    return DeclareSubscriptionCursor(name, subscription, SubscriptionStart.SINCE, int(text))


def parse_timeout(cursor: Cursor) -> str | None:
    """`WITH (timeout = '5s')` after FETCH."""
    if not cursor.accept("WITH"):
        return None
    position = cursor.position
    options = dict(OptionsReader(cursor).read())
    if options.keys() != {"timeout"}:
        cursor.fail_with("FETCH takes the option timeout", position)
    return options["timeout"]
