"""What a table is that copies a table of another system."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UpstreamTable:
    """FROM source TABLE 'name': the id of the source that reads the other system, and the table's name there.

    `shape` is what the connector wrote down of that table when it was copied (empty: nothing), so that it notices later
    that somebody has altered it. `all_columns`: it was written as `(*)`.
    """

    source_id: int
    name: str
    shape: str = ""
    all_columns: bool = False
