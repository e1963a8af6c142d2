"""Statements about channels, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Listen:
    """LISTEN channel."""

    channel: str


@dataclass(frozen=True, slots=True)
class Unlisten:
    """UNLISTEN channel; `channel` is None for all (*)."""

    channel: str | None


@dataclass(frozen=True, slots=True)
class Notify:
    """NOTIFY channel, 'payload'; without a payload it is empty."""

    channel: str
    payload: str = ""


ChannelStatement = Listen | Unlisten | Notify
