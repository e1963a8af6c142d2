"""The console over HTTP: files, texts, their results and errors, cancelling, and what ends with the page."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable

import pytest

from risingpy.server_process import ServerProcess
from tests.frontend.console.page import OWN, SECONDS, Page


def until(look: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not look():
        assert time.monotonic() < end
        time.sleep(0.05)


def working(server: ServerProcess) -> list[str]:
    """The texts that consoles run."""
    with server.connect() as client:
        rows = client.execute("SELECT query FROM pg_stat_activity WHERE application_name = 'risingpy console'")
        return [str(query) for (query,) in rows]


def test_files_and_their_headers(page: Page) -> None:
    status, headers, text = page.ask("GET", "/console/", headers={})
    assert status == 200 and "<title>RisingPy console</title>" in text
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    again, _, nothing = page.ask("GET", "/console/", headers={"If-None-Match": headers["ETag"]})
    assert (again, nothing) == (304, "")
    assert page.ask("GET", "/", headers={})[:1] == (302,)
    for name in ("main.js", "console.css", "icon.svg"):
        assert page.ask("GET", f"/console/{name}", headers={})[0] == 200


@pytest.mark.parametrize("path", ["/console/none.js", "/console/../console.py", "/console/%2e%2e/console.py"])
def test_other_files_are_not_there(page: Page, path: str) -> None:
    assert page.ask("GET", path, headers={})[0] == 404


def test_the_page_asks_nobody_else(page: Page) -> None:
    """It works offline: nothing of it names another server."""
    _, _, index = page.ask("GET", "/console/", headers={})
    names = re.findall(r'href="(\w+\.(?:js|css))"', index)
    assert len(names) > 5
    for name in names:
        _, _, text = page.ask("GET", f"/console/{name}", headers={})
        assert "https://" not in text and text.count("http://") == text.count("http://www.w3.org/2000/svg"), name


def test_results_of_several_statements(page: Page) -> None:
    lines = page.run("CREATE TABLE r (id int PRIMARY KEY, t text); INSERT INTO r VALUES (1, 'ä'), (2, NULL)")
    assert [line["tag"] for line in lines if "tag" in line] == ["CREATE TABLE", "INSERT 0 2"]
    lines = page.run("SELECT id, t FROM r ORDER BY id; SELECT count(*) AS n FROM r")
    assert lines[:3] == [
        {"fields": [{"name": "id", "type": "integer"}, {"name": "t", "type": "text"}]},
        {"columns": [["1", "2"], ["ä", None]]},
        {"tag": "SELECT 2", "more": False},
    ]
    assert lines[4]["columns"] == [["2"]]
    assert lines[-1]["done"] > 0


def test_the_first_rows(page: Page) -> None:
    lines = page.run("SELECT i FROM generate_series(1, 100000) i", limit=3)
    assert [len(line["columns"][0]) for line in lines if "columns" in line] == [3]
    assert lines[-2] == {"tag": "SELECT 3", "more": True}
    assert page.run("SELECT i FROM generate_series(1, 3) i", limit=3)[-2] == {"tag": "SELECT 3", "more": False}


def test_a_long_value_is_cut(page: Page) -> None:
    [[value, short]] = page.columns("SELECT x FROM (VALUES (1, repeat('ä', 20000)), (2, 'b')) AS s(i, x) ORDER BY i")
    assert value == "ä" * 10_000 + "…" and short == "b"


def test_errors_have_their_place(page: Page) -> None:
    [tag, error, done] = [line for line in page.run("SELECT 1; SELECT nosuch") if "columns" not in line][1:]
    assert tag["tag"] == "SELECT 1"
    assert (error["error"]["sqlstate"], error["error"]["position"]) == ("42703", 18)
    assert "done" in done
    [error, _] = page.run("SELEC 1")
    assert error["error"]["sqlstate"] == "42601" and error["error"]["position"] == 1
    [error, _] = page.run("SELECT $1::int")
    assert error["error"]["sqlstate"] == "42P02"
    [error, _] = page.run("COPY r TO STDOUT")[-2:]
    assert error["error"]["sqlstate"] in ("0A000", "42P01")
    assert [list(line) for line in page.run("")] == [["done"]]


def test_a_failed_text_leaves_nothing(page: Page) -> None:
    page.run("CREATE TABLE undone (id int PRIMARY KEY)")
    page.run("INSERT INTO undone VALUES (1); SELECT 1 / 0")
    assert page.columns("SELECT count(*) FROM undone") == [["0"]]
    page.run("BEGIN; INSERT INTO undone VALUES (2)")
    assert page.columns("SELECT count(*) FROM undone") == [["0"]], "a session ends with its text"


def test_cancel(page: Page, server: ServerProcess) -> None:
    with page.running("SELECT pg_sleep(600)", "slow") as lines:
        assert page.send("cancel", {"name": "other"}) == (200, {"cancelled": 0})
        stranger = Page(page.port)
        stranger.log_in()
        assert stranger.send("cancel", {"name": "slow"}) == (200, {"cancelled": 0})
        assert page.send("cancel", {"name": "slow"}) == (200, {"cancelled": 1})
        found = list(lines)
    assert found[-2]["error"]["sqlstate"] == "57014"
    until(lambda: not working(server))


def test_a_live_result_ends_with_its_page(page: Page, server: ServerProcess) -> None:
    page.run("CREATE TABLE live (id int PRIMARY KEY); INSERT INTO live VALUES (1)")
    with page.running("SUBSCRIBE TO live", "live") as lines:
        assert [field["name"] for field in next(lines)["fields"]] == ["rw_epoch", "op", "id"]
        assert next(lines)["columns"][1:] == [["Insert"], ["1"]]
        page.run("INSERT INTO live VALUES (2)")
        assert next(lines)["columns"][1:] == [["Insert"], ["2"]]
        assert working(server) == ["SUBSCRIBE TO live"]
    until(lambda: not working(server))


def test_another_session_may_end_it(page: Page, server: ServerProcess) -> None:
    with page.running("SELECT pg_sleep(600)", "slow") as lines, server.connect() as client:
        client.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%sleep(600)'")
        assert list(lines)[-2]["error"]["sqlstate"] == "57P01"


def test_requests_of_other_sites_are_refused(page: Page) -> None:
    body = {"sql": "CREATE TABLE evil (id int)"}
    token = {"Authorization": f"Bearer {page.token}"}
    assert page.send("run", body, {"Content-Type": "text/plain", **token})[0] == 403
    assert page.send("run", body, {**OWN, **token, "Origin": "https://evil.example"})[0] == 403
    assert page.send("login", {}, {"Content-Type": "application/json"})[0] == 403
    assert page.send("login", {}, {**OWN, "Origin": "null"})[0] == 403
    # DNS rebinding: the page is of the same origin, under a name that points here
    rebound = {**OWN, "Host": f"evil.example:{page.port}", "Origin": f"http://evil.example:{page.port}"}
    assert page.send("login", {}, rebound)[0] == 401
    own = {**OWN, "Origin": f"http://127.0.0.1:{page.port}"}
    assert page.send("login", {}, own)[0] == 200
    assert page.send("login", {}, {**OWN, "Host": f"localhost:{page.port}"})[0] == 200
    assert page.columns("SELECT count(*) FROM pg_class WHERE relname = 'evil'") == [["0"]]
    status, headers, _ = page.ask("OPTIONS", "/console/run", headers={"Origin": "https://evil.example"})
    assert status >= 400 and not [name for name in headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("{", 400),
        ("[]", 400),
        ('{"sql": 1}', 400),
        ('{"sql": "SELECT 1", "limit": 0}', 400),
        ('{"sql": "SELECT 1", "limit": "5"}', 400),
        ('{"sql": "a\\u0000b"}', 400),
        ("[" * 100_000, 400),
    ],
)
def test_bad_bodies(page: Page, body: str, status: int) -> None:
    assert page.ask("POST", "/console/run", body)[0] == status
    assert page.columns("SELECT 1") == [["1"]]


def test_without_a_login(page: Page) -> None:
    stranger = Page(page.port)
    assert stranger.send("run", {"sql": "SELECT 1"})[0] == 401
    stranger.token = "x" * 43
    assert stranger.send("run", {"sql": "SELECT 1"})[0] == 401
    assert stranger.send("nothing", {})[0] == 404
    assert page.send("logout", {})[0] == 200
    assert page.send("run", {"sql": "SELECT 1"})[0] == 401


def test_too_many_texts_leave_places_for_monitoring(page: Page) -> None:
    begun: list[int] = []
    ended: list[object] = []

    def hold(number: int) -> None:
        with page.running("SELECT pg_sleep(600)", f"held {number}") as lines:
            begun.append(number)
            ended.append(list(lines))

    threads = [threading.Thread(target=hold, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    until(lambda: page.send("run", {"sql": "", "limit": 0})[0] == 400)
    until(lambda: len(begun) == 24)
    assert page.ask("POST", "/console/run", '{"sql": "SELECT 1"}')[0] == 503
    assert page.ask("GET", "/healthz", headers={})[0] == 200
    for number in range(24):
        until(lambda number=number: page.send("cancel", {"name": f"held {number}"})[1]["cancelled"] == 1)  # type: ignore[misc]
    for thread in threads:
        thread.join(SECONDS)
    assert len(ended) == 24
    until(lambda: page.ask("POST", "/console/run", '{"sql": "SELECT 1"}')[0] == 200)


def test_a_stop_ends_what_runs(tmp_path: object, page: Page, server: ServerProcess) -> None:
    """The last test of the file: it stops the server."""
    with page.running("SELECT pg_sleep(600)", "slow") as lines:
        began = time.monotonic()
        assert server.stop() == 0
        assert list(lines)[-2]["error"]["sqlstate"] == "57P03"
        assert time.monotonic() - began < SECONDS
