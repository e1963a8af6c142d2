"""A whole database as SQL and Parquet: `risingpy export` writes such a directory, and `risingpy import` reads it.

schema.sql      the statements of `rw_catalog.rw_definitions`, each under a line that says where and when it runs
rows/N.parquet  the rows of a table
export.json     what belongs to the export; it is written last, so that without it the directory is none
"""

from risingpy.client.transfer.exported import ExportedDatabase, read_export
from risingpy.client.transfer.exporting import export_to
from risingpy.client.transfer.importing import import_into

__all__ = ["ExportedDatabase", "export_to", "import_into", "read_export"]
