"""Several clients count in the table t (id, n) by one statement: is any increment lost?"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.frontend.session.conftest import Client

CLIENTS = 3
TIMES = 10


def check_no_increment_is_lost(table: Client, connect: Callable[[], Client], statement: str) -> None:
    """`statement` adds $2 to the n of the id $1, and inserts the row if there is none; t has no ids from 7 on."""

    def work(client: Client) -> None:
        for i in range(TIMES):
            client.run(statement, 100 + i, 1)
            client.run(statement, 7, 1)

    threads = [threading.Thread(target=work, args=(connect(),)) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = {row[0]: row[1] for row in table.run("SELECT * FROM t")}
    assert counted[7] == CLIENTS * TIMES
    assert {counted[100 + i] for i in range(TIMES)} == {CLIENTS}
