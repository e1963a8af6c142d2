"""The console in a real browser, without a window: Debian's Chromium, which Playwright drives (`make console-test`).

With RISINGPY_CONSOLE_PICTURES=DIRECTORY, pictures of the pages are left there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from risingpy.server_process import HOST, ServerProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SECONDS = 60.0
_PICTURES = os.environ.get("RISINGPY_CONSOLE_PICTURES")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (apt-get install chromium)"),
    pytest.mark.slow,
]

SETUP = """
CREATE TABLE orders (id bigint PRIMARY KEY, customer text, amount int);
CREATE TABLE customers (name text PRIMARY KEY, city text);
CREATE SOURCE clicks (n bigint) WITH (connector = 'datagen', "datagen.rows.per.second" = '50',
  "fields.n.kind" = 'sequence', "fields.n.start" = '1') FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW spent AS SELECT customer, count(*) AS n, sum(amount) AS total FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW by_city AS SELECT c.city, sum(s.total) AS total, sum(o.amount % 7) AS sevenths
  FROM spent s JOIN customers c ON c.name = s.customer JOIN orders o ON o.customer = c.name GROUP BY c.city;
CREATE MATERIALIZED VIEW clicked AS SELECT n % 10 AS page, count(*) AS clicks, 1 / (n % 10) AS inverse
  FROM clicks GROUP BY n % 10;
CREATE VIEW rich AS SELECT * FROM spent WHERE total > 1000;
CREATE TABLE archive (city text PRIMARY KEY, total bigint);
CREATE SINK archived INTO archive AS SELECT city, total FROM by_city;
CREATE SINK out FROM spent WITH (connector = 'blackhole');
INSERT INTO customers SELECT 'customer ' || i, 'city ' || i % 7 FROM generate_series(1, 50) i;
INSERT INTO orders SELECT i, 'customer ' || (1 + i % 50), i % 90 FROM generate_series(1, 5000) i
"""
HOSTILE = """
CREATE TABLE "<img src=x onerror=alert(1)>" (id int PRIMARY KEY, "<b>" text);
INSERT INTO "<img src=x onerror=alert(1)>" VALUES (1, '<script>document.title = "owned"</script>')
"""


@pytest.fixture(scope="module", autouse=True)
def database(server: ServerProcess) -> None:
    with server.connect() as client:
        for statement in SETUP.split(";\n"):
            client.execute(statement)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def tab(browser: Browser, server: ServerProcess) -> Iterator[Tab]:
    """The console, opened anew, on a dark or light screen of usual size. No test may leave an error of JavaScript."""
    with_errors: list[str] = []
    opened = browser.new_page(viewport={"width": 1280, "height": 800})
    opened.set_default_timeout(SECONDS * 1000)
    opened.on("pageerror", lambda error: with_errors.append(str(error)))
    opened.on("dialog", lambda dialog: with_errors.append(f"dialog {dialog.message}"))
    opened.goto(f"http://{HOST}:{server.http_port}/console/")
    yield opened
    opened.close()
    assert with_errors == []


def show(tab: Tab, page: str) -> None:
    tab.locator("nav a", has_text=page).click()


def shot(tab: Tab, name: str) -> None:
    if _PICTURES:
        Path(_PICTURES).mkdir(parents=True, exist_ok=True)
        tab.screenshot(path=Path(_PICTURES, f"{name}.png"))


def node(name: str) -> str:
    return f'.node:has(title:text-is("public.{name}"))'


def test_the_graph_is_live(tab: Tab, server: ServerProcess) -> None:
    tab.locator(node("by_city")).wait_for()
    assert tab.locator(".node").count() == 10
    assert tab.locator(".edge").count() == 9
    tab.locator(".edge.busy text", has_text="/s").first.wait_for()
    shot(tab, "graph")
    with server.connect() as client:
        client.execute("INSERT INTO orders SELECT i, 'customer 1', 1 FROM generate_series(10001, 13000) i")
        client.execute("CREATE MATERIALIZED VIEW newest AS SELECT max(id) FROM orders")
    tab.locator(f"{node('orders')} >> text=8000 rows").wait_for()
    tab.locator(node("newest")).wait_for()
    with server.connect() as client:
        client.execute("DROP MATERIALIZED VIEW newest")
    tab.locator(node("newest")).wait_for(state="detached")


def test_a_relation_and_its_plan(tab: Tab) -> None:
    tab.locator(node("by_city")).click()
    tab.locator("#details h2", has_text="public.by_city").wait_for()
    tab.locator("#details button", has_text="Definition").click()
    tab.locator("#details pre", has_text="JOIN customers").wait_for()
    tab.locator("#details button", has_text="Plan").click()
    tab.locator("#results .picture .node", has_text="StreamHashJoin").first.wait_for()
    assert tab.locator("#results .picture .node", has_text="state").count() >= 3
    shot(tab, "plan")


def test_by_keyboard(tab: Tab) -> None:
    tab.locator(node("orders")).wait_for()
    tab.keyboard.press("/")
    tab.keyboard.type("orders")
    tab.keyboard.press("Enter")
    tab.locator("#details h2", has_text="public.orders").wait_for()
    tab.locator("#drawing").focus()
    tab.keyboard.press("ArrowRight")
    tab.locator("#details h2", has_text="public.orders").wait_for(state="detached")
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.closest('#details') !== null")
    tab.locator("#drawing").focus()
    tab.keyboard.press("Escape")
    tab.locator("#details").wait_for(state="hidden")


def test_the_editor(tab: Tab) -> None:
    show(tab, "SQL")
    tab.locator("#text").fill("SELECT customer, total FROM spent LIMIT 3;\nSELECT '😀', nosuch FROM spent")
    tab.keyboard.press("Control+Enter")
    tab.locator(".error .failure", has_text='42703: column "nosuch" does not exist').wait_for()
    assert tab.locator("#results tbody tr").count() == 3
    assert tab.evaluate("getSelection().toString()") == "nosuch", "the place is marked in the text"
    caret = tab.locator(".error pre").inner_text().split("\n")
    assert caret[0].startswith("LINE 2: SELECT") and caret[1].strip() == "^"
    shot(tab, "sql")
    tab.locator("#text").fill("SELECT city, count(*) FROM customers JOIN spent ON name = customer GROUP BY city")
    tab.locator("#explain").click()
    tab.locator("#results .picture .node", has_text="Join").first.wait_for()
    tab.locator("#text").fill("SELECT pg_sleep(600)")
    tab.keyboard.press("Control+Enter")
    tab.locator("#cancel:not([disabled])").wait_for()
    tab.keyboard.press("Escape")
    tab.locator(".error .failure", has_text="57014").wait_for()
    tab.locator("#cancel[disabled]").wait_for()


def test_live_changes(tab: Tab, server: ServerProcess) -> None:
    show(tab, "SQL")
    tab.locator("#text").fill("SUBSCRIBE TO spent")
    tab.keyboard.press("Control+Enter")
    tab.locator("#results tbody tr").nth(49).wait_for()
    with server.connect() as client:
        client.execute("INSERT INTO orders VALUES (20001, 'somebody new', 77)")
    tab.locator("#results tbody tr:first-child", has_text="somebody new").wait_for()
    show(tab, "Graph")
    tab.close()
    with server.connect() as client:
        end = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SUBSCRIBE TO spent'"
        for _ in range(600):
            if client.execute(end).fetchone() == (0,):
                return
            client.execute("SELECT pg_sleep(0.1)")
    raise AssertionError("the closed page still runs")


def test_epochs_jobs_errors_and_relations(tab: Tab, server: ServerProcess) -> None:
    show(tab, "Epochs")
    tab.locator(".chart rect.run").first.wait_for()
    shot(tab, "epochs")
    show(tab, "Errors")
    tab.locator("#errors tr", has_text="public.clicked").locator("text=became NULL").wait_for()
    shot(tab, "errors")
    show(tab, "Relations")
    tab.locator("#list tr", has_text="public.by_city").wait_for()
    shot(tab, "relations")
    show(tab, "Jobs")
    with server.connect() as client:
        client.execute("SET background_ddl = true")
        client.execute("SET backfill_rate_limit = 10")
        client.execute("CREATE MATERIALIZED VIEW slow AS SELECT amount, count(*) FROM orders GROUP BY amount")
        row = tab.locator("#jobs tr", has_text="MATERIALIZED VIEW slow")
        row.wait_for()
        shot(tab, "jobs")
        row.locator("button").click()
        row.wait_for(state="detached")
        found = client.execute("SELECT count(*) FROM rw_catalog.rw_ddl_progress").fetchone()
    assert found == (0,)


def test_texts_of_users_are_texts(tab: Tab, server: ServerProcess) -> None:
    with server.connect() as client:
        for statement in HOSTILE.split(";\n"):
            client.execute(statement)
    tab.locator('.node:has-text("<img src=x")').wait_for()
    show(tab, "SQL")
    tab.locator("#text").fill('SELECT * FROM "<img src=x onerror=alert(1)>"')
    tab.keyboard.press("Control+Enter")
    tab.locator("#results td", has_text="<script>").wait_for()
    assert tab.title() == "RisingPy console"
    assert tab.locator("#results td script, img").count() == 0


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_a_narrow_screen(tab: Tab, scheme: str) -> None:
    tab.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    tab.set_viewport_size({"width": 360, "height": 640})
    tab.locator(node("orders")).wait_for()
    for page in ("Graph", "Epochs", "Jobs", "Errors", "SQL"):
        show(tab, page)
        wide = tab.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, f"{page} is wider than the screen: {wide}"
    show(tab, "Graph")
    tab.locator("#search").fill("by_city")
    tab.keyboard.press("Enter")
    tab.locator("#details h2").wait_for()
    back = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(20, 23, 29)") is (scheme == "dark")
    shot(tab, f"narrow-{scheme}")


def test_login_with_a_password(tab: Tab, server: ServerProcess) -> None:
    """The last test: from now on, everybody needs one."""
    tab.locator(node("orders")).wait_for()
    with server.connect() as client:
        client.execute("CREATE USER watcher PASSWORD 'secret'")
        client.execute("ALTER USER root PASSWORD 'secret'")
    tab.reload()
    tab.locator("#login button").wait_for()  # the login of before, without a password, has ended
    shot(tab, "login")
    tab.locator("input[name=user]").fill("watcher")
    tab.locator("input[name=password]").fill("wrong")
    tab.keyboard.press("Enter")
    tab.locator("#login .failure", has_text="password authentication failed").wait_for()
    tab.locator("input[name=password]").fill("secret")
    tab.keyboard.press("Enter")
    tab.locator("#state", has_text="watcher@dev").wait_for()
    show(tab, "SQL")
    tab.locator("#text").fill("SELECT * FROM orders")
    tab.keyboard.press("Control+Enter")
    tab.locator(".error .failure", has_text="42501").wait_for()
    tab.locator("#logout").click()
    tab.locator("#login button").wait_for()
    with pytest.raises(psycopg.OperationalError, match="password"):
        server.connect()
