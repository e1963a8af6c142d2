"""Positions in the binary log: `binlog.000003:1234`, and the numbers that say which of two is later."""

from __future__ import annotations

from dataclasses import dataclass

_FILE_BITS = 40  # of a number: what is left of them for the place in a file


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file of the binary log. Events begin at such places."""

    file: str
    place: int

    def __str__(self) -> str:
        return f"{self.file}:{self.place}"

    @property
    def number(self) -> int:
        """Greater for a later position. Files are numbered after their last dot."""
        _, _, digits = self.file.rpartition(".")
        return int(digits) << _FILE_BITS | self.place


def position_of(text: str) -> Position:
    """The position that `str` gave."""
    file, _, place = text.rpartition(":")
    return Position(file, int(place))
