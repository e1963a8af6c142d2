"""What the state tells of itself, for system relations: rows and bytes of tables, and how far compactions have come.

`ReadView.statistics` and `ReadView.compactions` (of a `Snapshot`) give these by table id.
"""

from risingpy.storage.engine.compaction import CompactionProgress
from risingpy.storage.engine.table_statistics import TableStatistics

__all__ = ["CompactionProgress", "TableStatistics"]
