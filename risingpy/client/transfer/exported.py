"""An export's directory: what its files have, and whether they are whole."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from risingpy.errors import SqlError
from risingpy.formats import EXPORT
from risingpy.sql_quoting import double_quoted, quoted_text

NOTE, SCHEMA, ROWS = "export.json", "schema.sql", "rows"
MASK = "***"  # stands where a secret was
_HEAD = re.compile(r"^-- risingpy (\d+) (\{.*\})$", re.MULTILINE)
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ExportedStatement:
    """A statement: see `frontend.definitions.step.Definition`. `line` is where it stands in schema.sql."""

    part: str
    database: str
    kind: str
    name: str
    search_path: tuple[str, ...]
    text: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class TableRows:
    """The rows of a table; `relation` is its name as SQL has it."""

    database: str
    relation: str
    file: str
    rows: int
    digest: str


@dataclass(frozen=True, slots=True)
class ExportedDatabase:
    """An export that was read, and is whole."""

    directory: Path
    made_by: str
    steps: Sequence[ExportedStatement]
    tables: Sequence[TableRows]


def write_schema(directory: Path, steps: Sequence[ExportedStatement]) -> None:
    """Writes schema.sql, which psql reads, too. Raises SqlError for a text that could not be told from a head."""
    parts = ["-- Statements that make this database anew. Where a secret was, there is '***': write the value there.\n"]
    database = None
    for number, step in enumerate(steps, 1):
        if _HEAD.search(step.text):
            raise SqlError(f"the text of {step.kind} {step.name} has a line that begins as exports' own lines do")
        head = {key: value for key, value in asdict(step).items() if key not in ("text", "line")}
        parts.append(f"\n-- risingpy {number} {json.dumps(head, ensure_ascii=False)}\n")
        if step.database != database:
            database = step.database
            parts.append(f"\\connect {quoted_text(database)}\n")
        parts.append(
            f"SET search_path TO {', '.join(double_quoted(each) for each in step.search_path or ('public',))};\n"
        )
        parts.append(f"{step.text};\n")
    (directory / SCHEMA).write_text("".join(parts), encoding="utf-8")


def write_note(directory: Path, made_by: str, tables: Sequence[TableRows], statements: int) -> None:
    """Makes an export of the directory."""
    note = {
        "format": EXPORT.written,
        "made_by": made_by,
        "statements": statements,
        "tables": [asdict(each) for each in tables],
    }
    unfinished = directory / f"{NOTE}.new"
    unfinished.write_text(json.dumps(note, indent=1, ensure_ascii=False), encoding="utf-8")
    unfinished.rename(directory / NOTE)


def read_export(directory: Path) -> ExportedDatabase:
    """Reads all but the rows, whose files it compares with their digests. Raises SqlError for what is damaged."""
    try:
        note = json.loads((directory / NOTE).read_text(encoding="utf-8"))
        text = (directory / SCHEMA).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SqlError(
            f"{directory} is no export, or was not finished: it has no {Path(error.filename).name}"
        ) from None
    except (OSError, ValueError) as error:
        raise SqlError(f"{directory} cannot be read: {error}") from None
    if note.get("format") not in EXPORT.read:
        hint = "Use the version of RisingPy that made it, or a later one."
        raise SqlError(
            f"{directory} has format {note.get('format')}, and this version reads {EXPORT.written}", hint=hint
        )
    steps = list(_steps(text))
    if len(steps) != note["statements"]:
        raise SqlError(f"{directory / SCHEMA} has {len(steps)} statements, and not {note['statements']}: it is damaged")
    tables = [TableRows(**each) for each in note["tables"]]
    for each in tables:
        _check(directory / each.file, each)
    return ExportedDatabase(directory, note["made_by"], steps, tables)


def masked_steps(steps: Sequence[ExportedStatement]) -> list[ExportedStatement]:
    """The statements that have a mask where a secret is to be."""
    with_options = ("source", "sink", "secret", "connection")
    found = [each for each in steps if each.kind in with_options or (each.kind == "table" and "connector" in each.text)]
    return [each for each in found if MASK in each.text]


def digest_of(path: Path) -> str:
    """The file's SHA-256."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            found.update(piece)
    return found.hexdigest()


def _steps(text: str) -> Iterator[ExportedStatement]:
    heads = list(_HEAD.finditer(text))
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        if int(head[1]) != place + 1:
            raise SqlError(f"{SCHEMA} is damaged: statement {place + 1} is missing")
        fields: Mapping[str, Any] = json.loads(head[2])
        lines = text[head.end() + 1 : end].split("\n")
        line = text.count("\n", 0, head.start()) + 2
        while lines and lines[0].startswith(("\\connect ", "SET search_path TO ")):
            del lines[0]
            line += 1
        body = "\n".join(lines).rstrip().removesuffix(";")
        path = tuple(fields["search_path"])
        rest = {key: str(fields[key]) for key in ("part", "database", "kind", "name")}
        yield ExportedStatement(**rest, search_path=path, text=body, line=line)


def _check(path: Path, of: TableRows) -> None:
    try:
        found = digest_of(path)
    except OSError as error:
        raise SqlError(f"the rows of {of.relation} cannot be read: {error}") from None
    if found != of.digest:
        raise SqlError(f"{path} is damaged: it is not what was exported of {of.relation}")
