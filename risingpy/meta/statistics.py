"""Statistics for system relations: rows and bytes of tables, and the progress of compactions.

`ReadView.statistics` and `ReadView.compactions` (of a `Snapshot`) give these by table id.
"""

from risingpy.storage.engine.compaction import CompactionProgress
from risingpy.storage.engine.table_statistics import TableStatistics

__all__ = ["CompactionProgress", "TableStatistics"]
