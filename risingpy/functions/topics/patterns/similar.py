"""SIMILAR TO patterns as regular expressions, as PostgreSQL's `similar_escape` writes them.

    %(b|d)%   →   ^(?:.*(?:b|d).*)$

With two escape-quote separators, `#"` for the escape character `#`, the part between them becomes a group.
"""

from __future__ import annotations

import re

from risingpy.errors import SqlError

# What only looks like a quantifier is skipped: escapes, brackets, and the beginnings of groups.
_QUANTIFIER = re.compile(r"\\.|\[\^?\]?[^\]]*\]|\(\?:|(?P<quantifier>[*+?]|\{\d+(?:,\d*)?\})", re.DOTALL)
_SPECIAL = "\\^$.{}"


def similar_pattern(pattern: str, escape: str) -> str:
    """The regular expression of a SIMILAR TO pattern. Raises 22019 and 2200C."""
    if len(escape) > 1:
        raise SqlError("invalid escape string", sqlstate="22019", hint="Escape string must be empty or one character.")
    out = ["^(?:"]
    after_escape = in_bracket = False
    separators = 0
    for char in pattern:
        if after_escape:
            after_escape = False
            if char == '"' and not in_bracket:
                separators += 1
                if separators > 2:
                    message = "SQL regular expression may not contain more than two escape-double-quote separators"
                    raise SqlError(message, sqlstate="2200C")
                out.append("){1,1}?(" if separators == 1 else "){1,1}(?:")
            else:
                out.append("\\" + char)
        elif escape and char == escape:
            after_escape = True
        elif in_bracket:
            out.append("\\\\" if char == "\\" else char)
            in_bracket = char != "]"
        elif char == "[":
            out.append(char)
            in_bracket = True
        else:
            out.append(_plain(char))
    text = "".join(out) + ")$"
    if separators:  # the part before the first separator is as short as can be
        before, _, rest = text.partition("){1,1}?(")
        text = f"{_lazy(before)})({rest.replace('){1,1}(?:', ')(?:')}"
    return text


def _plain(char: str) -> str:
    if char == "%":
        return ".*"
    if char == "_":
        return "."
    if char == "(":
        return "(?:"
    return "\\" + char if char in _SPECIAL and char not in "{}" else char


def _lazy(text: str) -> str:
    """The regular expression with all its quantifiers as short as can be: `a*b{2,3}` is `a*?b{2,3}?`."""
    return _QUANTIFIER.sub(lambda found: found[0] + "?" if found["quantifier"] else found[0], text)
