"""Text between the keywords of a template: quoted, or a character alone. Source: parse_format of formatting.c."""

from __future__ import annotations


def literal_at(text: str, at: int) -> tuple[str, int]:
    """The literal text that begins at `at`, and where it ends.

    Within quotes a backslash takes any character as it is, elsewhere only a quote.
    """
    if text[at] != '"':
        at += text[at] == "\\" and text[at + 1 : at + 2] == '"'
        return text[at], at + 1
    at += 1
    quoted = []
    while at < len(text) and text[at] != '"':
        at += text[at] == "\\" and at + 1 < len(text)
        quoted.append(text[at])
        at += 1
    return "".join(quoted), at + 1
