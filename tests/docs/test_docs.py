"""The documents: links lead somewhere, generated pages are up to date, and every SQL example runs."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from risingpy import errors
from risingpy.frontend.parser import parse
from risingpy.server_process import ServerProcess

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def sql_blocks(page: Path) -> list[str]:
    return [body for language, body in _FENCE.findall(page.read_text()) if language == "sql"]


WITH_SQL = [page for page in PAGES if sql_blocks(page)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("docs"), engine="inprocess")
    yield process
    process.stop()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [target.partition("#")[0] for target in _LINK.findall(_FENCE.sub("", page.read_text()))]
    local = [target for target in targets if target and "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", WITH_SQL, ids=name_of)
def test_sql_parses(page: Path) -> None:
    for block in sql_blocks(page):
        assert parse(block)


@pytest.mark.parametrize("page", WITH_SQL, ids=name_of)
def test_sql_runs(page: Path, server: ServerProcess) -> None:
    schema = re.sub(r"\W", "_", name_of(page)).lower()
    with server.connect() as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        for block in sql_blocks(page):
            for parsed in parse(block):
                connection.execute(f"SET search_path = {schema}")
                try:
                    connection.execute(parsed.text.encode(), prepare=False)
                except psycopg.Error as error:
                    pytest.fail(f"{name_of(page)}: {parsed.text}\n{error}")


def test_what_the_readme_shows(server: ServerProcess) -> None:
    """The rows that the comments of the first example promise."""
    (example,) = sql_blocks(ROOT / "README.md")
    shown = []
    with server.connect() as connection:
        connection.execute("CREATE SCHEMA readme")
        connection.execute("SET search_path = readme")
        for parsed in parse(example):
            cursor = connection.execute(parsed.text.encode(), prepare=False)
            if parsed.text.startswith("SELECT"):
                shown += [" | ".join(map(str, row)) for row in cursor.fetchall()]
    assert shown
    assert [row for row in shown if row not in example] == []


@pytest.mark.parametrize("generator", ["generate_functions.py", "generate_settings.py"])
def test_generated_pages_are_up_to_date(generator: str) -> None:
    script = runpy.run_path(str(ROOT / "docs" / generator))
    assert script["PAGE"].read_text() == script["page"](), f"run docs/{generator}"


def test_every_sqlstate_is_explained() -> None:
    page = (ROOT / "docs/sql/errors.md").read_text()
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.SqlError)]
    assert [kind.__name__ for kind in kinds if kind.sqlstate not in page] == []


MADE_BY_WORKED_PAGES = frozenset(("local_dedup.py", "macaddr.py"))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_files_that_are_named_exist(page: Path) -> None:
    """Paths that a page gives with their folder are files, except those that a worked page adds."""
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", page.read_text()))
    known = [
        f"/{path.relative_to(ROOT).as_posix()}"
        for top in ("risingpy", "tests", "docs")
        for path in (ROOT / top).rglob("*.py")
    ]
    missing = [name for name in named if not any(path.endswith("/" + name) for path in known)]
    assert [name for name in missing if Path(name).name not in MADE_BY_WORKED_PAGES] == []


_WHERE = re.compile(r"^\| (.+) \| `([a-z_/]+\.py)` \| `([\w.]+)` \|$", re.MULTILINE)


def _where_is() -> list[tuple[str, str]]:
    """The file and the name in each row of the guide's table "Where is …?"."""
    section = (ROOT / "docs/architecture.md").read_text().partition("## Where is …?")[2]
    return [(path, name) for _, path, name in _WHERE.findall(section)]


def test_where_is_has_every_row() -> None:
    section = (ROOT / "docs/architecture.md").read_text().partition("## Where is …?")[2]
    rows = [line for line in section.splitlines() if line.startswith("| ") and "`" in line]
    assert len(_where_is()) == len(rows) >= 20


@pytest.mark.parametrize(("path", "name"), _where_is())
def test_where_is_names_what_the_file_defines(path: str, name: str) -> None:
    """`name` is a function or a class of the file, or, after a dot, a method of the class before the dot."""
    scope: ast.AST = ast.parse((ROOT / "risingpy" / path).read_text())
    for part in name.split("."):
        defined = {
            node.name: node for node in ast.iter_child_nodes(scope) if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        assert part in defined
        scope = defined[part]


def test_the_glossary_names_files_in_order() -> None:
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| .+ \| `([a-z_/]+\.py)` \|$", (ROOT / "docs/glossary.md").read_text(), re.M)
    words = [word for word, _ in rows]
    assert words == sorted(words)
    assert [path for _, path in rows if not (ROOT / "risingpy" / path).is_file()] == []
    assert (ROOT / "docs/glossary.md").read_text().count("\n| **") == len(rows) > 50


def test_every_folder_has_a_table_of_contents() -> None:
    empty = [path for path in (ROOT / "risingpy").rglob("__init__.py") if not path.read_text().startswith('"""')]
    assert empty == []
