"""Connections to NATS, and its errors as ours: for the source, and for the sink."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import nats
from nats.errors import Error, NoServersError
from nats.js.errors import APIError, NoStreamResponseError

from risingpy.connectors.targets.options import Options
from risingpy.errors import IoError, SqlError, UndefinedTable

CONNECTION_OPTIONS = ("server_url", "username", "password", "token")
CONNECT_SECONDS = 3


async def connected(options: Options) -> Any:
    """A connection to one of the servers of `server_url`, which does not come back by itself when it is lost."""

    async def silent(error: Exception) -> None:
        """The library's own would print the errors that the caller raises."""

    connecting = nats.connect(
        options.required("server_url").split(","),
        user=options.text("username") or None,
        password=options.text("password") or None,
        token=options.text("token") or None,
        connect_timeout=CONNECT_SECONDS,
        allow_reconnect=False,
        max_reconnect_attempts=1,
        error_cb=silent,
    )
    # The library tries again for two minutes; the engine does that itself.
    return await asyncio.wait_for(connecting, CONNECT_SECONDS)


@contextmanager
def nats_errors(options: Options, unavailable: type[IoError]) -> Iterator[None]:
    """The library's errors as ours: `unavailable` where it may be better later."""
    try:
        yield
    except SqlError:
        raise
    except NoStreamResponseError:
        raise UndefinedTable(f'NATS has no stream with the subject "{options.text("subject")}"') from None
    except APIError as error:
        if error.code is not None and error.code < 500 and error.code != 408:
            raise SqlError(f"NATS: {options.masked(str(error))}", sqlstate="22000") from None
        raise unavailable(f"NATS: {options.masked(str(error))}") from None
    except (Error, NoServersError, OSError, TimeoutError) as error:
        text = options.masked(str(error) or type(error).__name__)
        if "authorization violation" in text.lower():
            raise SqlError(f"NATS: {text}", sqlstate="28000") from None
        raise unavailable(f"NATS: {text}") from None
