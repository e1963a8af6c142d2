"""The documentation as a site: it builds without a warning, has every page, and asks no other server."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_LOADED = re.compile(
    r"""<(?:script|img|iframe)[^>]*\ssrc=["']?(https?:)?//|<link[^>]*rel=["']?stylesheet[^>]*href=["']?(https?:)?//"""
)


def test_every_page_has_one_place() -> None:
    sections = runpy.run_path(str(ROOT / "docs/site_navigation.py"))["navigation"]()
    listed = [page for section in sections for each in section.values() for page in each]
    assert sorted(listed) == sorted(
        path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")
    )
    assert sections[-1] == {"More": ["changelog.md"]}  # every other page has a section


def test_the_site_builds_and_works_offline(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="pip install 'risingpy[docs]'")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path), strict=True))
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(list((ROOT / "docs").rglob("*.md")))
    assert [page for page in pages if _LOADED.search(page.read_text())] == []
    assert "Two rows:" in (tmp_path / "first-hour.html").read_text()
