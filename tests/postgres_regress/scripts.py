"""The statements of a script for psql, as PostgreSQL's regression tests have them.

psql ends a statement at a semicolon outside of quotes, comments and parentheses. Of its own commands only those count
that change what is sent: variables, and \\gset and its like, which end a statement. The data behind COPY … FROM stdin
comes with it; a file that COPY reads is data, too, since servers here read none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ENDS = re.compile(r"\\(gset|gexec|gdesc|gx|g|crosstabview|watch)\b")
_SET = re.compile(r"\\set\s+(\w+)\s*(.*)")
_GETENV = re.compile(r"\\getenv\s+(\w+)\s+(\w+)")
_PARTS_OF_VALUE = re.compile(r":\w+|'[^']*'|\S+")
_VARIABLE = re.compile(r""":(['"]?)(\w+)\1""")
_DOLLAR = re.compile(r"\$(\w*)\$")
_FROM_STDIN = re.compile(r"copy\b.*\bfrom\s+stdin\b", re.IGNORECASE | re.DOTALL)
_FROM_FILE = re.compile(r"copy\s+(\S+)\s+from\s+'([^']*)'\s*$", re.IGNORECASE)
_END_OF_DATA = re.compile(r"^\\\.\s*$", re.MULTILINE)
_ATOMIC = re.compile(r"\bBEGIN\s+ATOMIC\b", re.IGNORECASE)
_END = re.compile(r"\bEND\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sent:
    """What psql sends: a statement, and the data that COPY takes from it."""

    text: str
    data: str | None = None


class Script:
    """One file. `environment` are the variables that \\getenv finds."""

    def __init__(self, path: Path, environment: dict[str, str]) -> None:
        self._text = path.read_text(encoding="utf-8", errors="replace")
        self._environment = environment
        self._variables: dict[str, str] = {}
        self._place = 0

    def statements(self) -> Iterator[Sent]:
        """One after the other, with variables in their places."""
        text, size = self._text, len(self._text)
        parts: list[str] = []
        depth = 0
        while self._place < size:
            letter = text[self._place]
            if letter == "\\":
                if self._command() and "".join(parts).strip():
                    yield Sent("".join(parts).strip())
                    parts, depth = [], 0
                continue
            if letter == ";" and depth <= 0:
                statement = "".join(parts).strip()
                if _ATOMIC.search(statement) and not _END.search(statement):
                    parts.append(letter)
                    self._place += 1
                    continue
                self._place += 1
                parts, depth = [], 0
                if statement:
                    yield self._with_data(statement)
                continue
            depth += (letter == "(") - (letter == ")")
            parts.append(self._piece(parts))
        if "".join(parts).strip():
            yield Sent("".join(parts).strip())

    def _command(self) -> bool:
        """Takes one of psql's commands; whether it ends the statement before it."""
        text = self._text
        end = text.find("\n", self._place)
        end = len(text) if end < 0 else end
        command = text[self._place : end]
        self._place = end
        if found := _GETENV.match(command):
            self._variables[found[1]] = self._environment.get(found[2], "")
        elif found := _SET.match(command):
            values = _PARTS_OF_VALUE.findall(found[2])
            self._variables[found[1]] = "".join(
                self._variables.get(value[1:], value) if value[0] == ":" else value.strip("'") for value in values
            )
        return _ENDS.match(command) is not None

    def _piece(self, before: list[str]) -> str:
        """The next token, as far as it matters: what quotes and comments hold is one."""
        text, start = self._text, self._place
        two = text[start : start + 2]
        if two == "--":
            end = text.find("\n", start)
            self._place = len(text) if end < 0 else end
            return ""
        if two == "/*":
            self._place = _end_of_comment(text, start)
        elif text[start] == "'":
            escapes = bool(before) and before[-1] in "Ee" and (len(before) < 2 or not before[-2][-1:].isalnum())
            self._place = _end_of_text(text, start, escapes=escapes)
        elif text[start] == '"':
            self._place = text.find('"', start + 1) + 1
        elif found := _DOLLAR.match(text, start):
            end = text.find(found[0], found.end())
            self._place = len(text) if end < 0 else end + len(found[0])
        elif text[start] == ":" and two not in ("::", ":=") and (not before or before[-1] != ":"):
            return self._variable()
        else:
            self._place += 1
        return text[start : self._place]

    def _variable(self) -> str:
        found = _VARIABLE.match(self._text, self._place)
        if found is None or found[2] not in self._variables:
            self._place += 1
            return ":"
        self._place = found.end()
        quote, value = found[1], self._variables[found[2]]
        return quote + value.replace(quote, 2 * quote) + quote if quote else value

    def _with_data(self, statement: str) -> Sent:
        of_file = _FROM_FILE.match(statement)
        if of_file is not None and Path(of_file[2]).exists():
            data = Path(of_file[2]).read_text(encoding="utf-8", errors="replace")
            return Sent(f"COPY {of_file[1]} FROM STDIN", data)
        if not _FROM_STDIN.match(statement):
            return Sent(statement)
        start = self._text.find("\n", self._place) + 1
        found = _END_OF_DATA.search(self._text, start)
        end, self._place = (len(self._text),) * 2 if found is None else (found.start(), found.end())
        return Sent(statement, self._text[start:end])


def _end_of_comment(text: str, place: int) -> int:
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(text, place):
        depth += 1 if found[0] == "/*" else -1
        if not depth:
            return found.end()
    return len(text)


def _end_of_text(text: str, place: int, *, escapes: bool) -> int:
    place += 1
    while place < len(text):
        if escapes and text[place] == "\\":
            place += 1
        elif text[place] == "'":
            if text[place + 1 : place + 2] != "'":
                return place + 1
            place += 1
        place += 1
    return len(text)
