"""A map moves when its last user has left, and nobody new comes meanwhile."""

from __future__ import annotations

import threading

from risingpy.storage.engine.map_use import MapUse


def test_who_moves_the_map_waits_for_its_users_and_they_for_him() -> None:
    use, told = MapUse(), list[str]()
    waits = threading.Event()

    def move() -> None:
        waits.set()
        with use.moving():
            told.append("moves")

    def come() -> None:
        with use:
            told.append("comes")

    mover, newcomer = threading.Thread(target=move), threading.Thread(target=come)
    with use:
        mover.start()
        waits.wait()
        while not use.is_wanted:
            pass
        newcomer.start()
        newcomer.join(0.05)
        told.append("leaves")
    mover.join()
    newcomer.join()
    assert told == ["leaves", "moves", "comes"]


def test_an_error_while_it_moves_lets_others_go_on() -> None:
    use = MapUse()
    try:
        with use.moving():
            raise ValueError
    except ValueError:
        pass
    with use:
        assert not use.is_wanted
