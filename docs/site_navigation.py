"""The order of the site's pages, for mkdocs: sections here, and each page of a folder in its section by itself.

A link that leads out of docs/ (to a file of the repository) becomes its text.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

DOCS = Path(__file__).parent
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Start", ("index.md", "first-hour.md", "python.md", "clients.md", "comparison.md")),
    ("SQL", ("sql/index.md", "sql/*.md")),
    ("Connectors", ("connectors/index.md", "connectors/*.md")),
    ("Operating", ("operations.md", "operating/*.md", "security.md", "reliability.md", "scale.md")),
    ("How it works", ("architecture.md", "glossary.md", "benchmarks.md", "contributing/*.md")),
    ("Decisions", ("decisions/*.md",)),
    ("More", ("**/*.md",)),
)
_LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)\s#]+)(?:#[^)]*)?\)")


def navigation() -> list[dict[str, list[str]]]:
    """The sections with their pages, each page in the first section that has it."""
    seen: set[str] = set()
    sections = []
    for title, patterns in SECTIONS:
        pages = []
        for pattern in patterns:
            found = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.glob(pattern))
            pages += [page for page in found if page not in seen]
            seen.update(found)
        if pages:
            sections.append({title: pages})
    return sections


def on_config(config: Any) -> Any:
    """Called by mkdocs."""
    config.nav = navigation()
    return config


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Called by mkdocs for each page."""
    folder = PurePosixPath(page.file.src_uri).parent

    def inside(found: re.Match[str]) -> str:
        target = (DOCS / folder / found[2]).resolve()
        return found[0] if target.is_relative_to(DOCS.resolve()) else found[1]

    return _LINK.sub(inside, markdown)
