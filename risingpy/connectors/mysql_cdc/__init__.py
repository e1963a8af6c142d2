"""Changes of MariaDB and MySQL as they are committed: `connector = 'mysql-cdc'`.

connector     checks, describes tables, and runs: new tables' snapshots first, then the binary log's transactions
options       the options of CREATE SOURCE, checked
upstream      what the other server says of itself: settings, tables, columns and their types, positions
binlog        a connection that receives the binary log from a position on
events        the heads of its events, and what a table map says
row_kernel    where each value of row events begins
column_texts  values become texts, column by column
alterations   what a statement does to the tables that it names
receiver      makes groups of whole transactions, which it gives to the engine
snapshot      a table's rows at an exact position of the binary log

In: binary log in row format with full images and metadata. Out: groups of change chunks, each with the position after
its last transaction.
"""

from risingpy.connectors.mysql_cdc.connector import MysqlCdcConnector

__all__ = ["MysqlCdcConnector"]
