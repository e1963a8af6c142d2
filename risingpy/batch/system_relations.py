"""The interface by which queries read system relations: only the frontend knows their contents, and gives the rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import pyarrow as pa

from risingpy.plan.logical import SystemScan


class SystemRelations(Protocol):
    """The system relations at one snapshot, for one run of a query."""

    def rows(self, scan: SystemScan) -> pa.Table:
        """The columns that the scan reads, as c0…"""

    def lookups(self, names: Collection[str]) -> Mapping[str, pa.Table]:
        """The relations in which functions look names up (`evaluation/sql/catalog.py`); other names are left out."""
