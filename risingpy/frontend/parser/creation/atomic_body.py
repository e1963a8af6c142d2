"""BEGIN ATOMIC … END: the body of a function or a procedure that is written without quotes, with semicolons inside."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

_NO_WORDS = (TokenType.IDENTIFIER, TokenType.STRING, TokenType.HEREDOC_STRING, TokenType.BYTE_STRING)
_ROUTINES = ("FUNCTION", "PROCEDURE")


def semicolons_inside(tokens: Sequence[Token]) -> frozenset[int]:
    """The places of the semicolons that end no statement of the text, as psql finds them, too."""
    if not any(token.text.upper() == "ATOMIC" for token in tokens):
        return frozenset()
    inside: set[int] = set()
    begin = depth = 0
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.SEMICOLON:
            if depth:
                inside.add(place)
            else:
                begin = place + 1
        elif not depth:
            depth += _opens_body(tokens, begin, place)
        else:
            depth += (_word(token) == "CASE") - (_word(token) == "END")
    return frozenset(inside)


def _opens_body(tokens: Sequence[Token], begin: int, place: int) -> bool:
    """Whether the ATOMIC of a statement's BEGIN ATOMIC stands at `place`; the statement begins at `begin`."""
    if _word(tokens[place]) != "ATOMIC" or _word(tokens[place - 1]) != "BEGIN" or place <= begin:
        return False
    head = [_word(token) for token in tokens[begin : begin + 4]]
    return head[:2] in [["CREATE", each] for each in _ROUTINES] or (
        head[:3] == ["CREATE", "OR", "REPLACE"] and head[3] in _ROUTINES
    )


def _word(token: Token) -> str:
    return "" if token.token_type in _NO_WORDS else token.text.upper()
