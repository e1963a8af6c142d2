"""Answers queries: plans them as data when they are prepared, and runs the plans against one committed epoch.

In: an optimized logical plan (`PreparedQuery`). Out: record batches (`BatchRunner`, one per session).

plan                          the plan's nodes
planner, key_lookup, index_choice   make a plan: find keys in conditions, choose indexes in place of tables
lookups/                      finds rows that a join needs, by a key or an index, with the values of its other side
prepared_query                keeps the plans until the catalog changes
parameters, constants         put parameters' values into a plan; compute answers that are constants
system_relations              the interface by which the frontend gives the rows of system relations
reads                         reads the rows of each kind of input
moments                       numbers of sequences and the time, for rows of constants
point_reads, whole_rows       a lookup by key without Arrow, for statements that are prepared
nearest_choice, nearest_reads the rows nearest to a vector: which index finds them; a search without DuckDB
prefix_reads                  a few rows by the first columns of a key, or of an index's, likewise
key_probe                     whether a key has a row, likewise
plain_rows, plain_rewrite     rows of constants, and what becomes of a row, likewise
row_rewrite                   UPDATE and DELETE of one row by its key
own_changes, row_keys         apply a transaction's own writes to them
statement_reads               what all parts of a statement read
sql/                          writes a plan as DuckDB SQL
first_of_key                  the first rows by a key, of each vnode
copied_rows                   columns of a relation as they are, without DuckDB
runner                        runs a plan
explain                       prints a plan
"""

from risingpy.batch.constants import direct_rows
from risingpy.batch.explain import explain_plan
from risingpy.batch.key_lookup import key_table
from risingpy.batch.key_probe import PLAIN_KEYS, CommittedKeys, KeyProbe, probe_of_index, probe_of_table
from risingpy.batch.nearest_reads import NearestRead, nearest_read
from risingpy.batch.own_changes import EarlierChanges, OwnChanges
from risingpy.batch.parameters import Parameters, with_parameters
from risingpy.batch.plain_rewrite import PlainRewrite, PlainValue, plain_new, plain_rewrite
from risingpy.batch.plain_rows import NotPlain, PlainRows, plain_rows
from risingpy.batch.plan import BatchPlan, ConstantRows, Direct
from risingpy.batch.point_reads import Datums, PointRead, point_read
from risingpy.batch.prefix_reads import PrefixRead, prefix_read
from risingpy.batch.prepared_query import PreparedQuery
from risingpy.batch.row_keys import group_by_key, keyed_by
from risingpy.batch.row_rewrite import RowRewrite, row_rewrite, value_of_row, value_over
from risingpy.batch.runner import BatchRunner
from risingpy.batch.statement_reads import StatementReads
from risingpy.batch.whole_rows import WholeRows, datum_writer, plain_datum, plain_value, whole_rows

__all__ = [
    "PLAIN_KEYS",
    "BatchPlan",
    "BatchRunner",
    "CommittedKeys",
    "ConstantRows",
    "Datums",
    "Direct",
    "EarlierChanges",
    "KeyProbe",
    "NearestRead",
    "NotPlain",
    "OwnChanges",
    "Parameters",
    "PlainRewrite",
    "PlainRows",
    "PlainValue",
    "PointRead",
    "PrefixRead",
    "PreparedQuery",
    "RowRewrite",
    "StatementReads",
    "WholeRows",
    "datum_writer",
    "direct_rows",
    "explain_plan",
    "group_by_key",
    "key_table",
    "keyed_by",
    "nearest_read",
    "plain_datum",
    "plain_new",
    "plain_rewrite",
    "plain_rows",
    "plain_value",
    "point_read",
    "prefix_read",
    "probe_of_index",
    "probe_of_table",
    "row_rewrite",
    "value_of_row",
    "value_over",
    "whole_rows",
    "with_parameters",
]
