"""What a table is that copies a table of another system."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UpstreamTable:
    """FROM source TABLE 'name': the id of the source that reads the other system, and the table's name there."""

    source_id: int
    name: str
