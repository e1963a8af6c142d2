"""The classes whose values are stored, each under a tag of its own.

Tags, fields and the values of enums are the format of what is on disk: a class may get another name or place, and its
tag stays; a field may be added with a default, and none goes or changes its meaning. `test_stored_classes.py` compares
them with those of all versions before.

Tags have the form `file.Class` because the classes stood in such files when tags were made of their places.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from risingpy.executors.expression import nodes, window_calls
from risingpy.optimizer import catalog, graph, logical, plan, plan_aggregates, plan_joins, plan_ordered, plan_properties
from risingpy.storage import table_schema
from risingpy.types import sql_type

STORED_CLASSES: Mapping[str, type] = MappingProxyType(
    {
        "sql_type.SqlType": sql_type.SqlType,
        "sql_type.TypeKind": sql_type.TypeKind,
        "nodes.Call": nodes.Call,
        "nodes.Case": nodes.Case,
        "nodes.Cast": nodes.Cast,
        "nodes.InputRef": nodes.InputRef,
        "nodes.Literal": nodes.Literal,
        "nodes.Parameter": nodes.Parameter,
        "window_calls.BoundKind": window_calls.BoundKind,
        "window_calls.Frame": window_calls.Frame,
        "window_calls.FrameBound": window_calls.FrameBound,
        "window_calls.FrameExclusion": window_calls.FrameExclusion,
        "window_calls.FrameUnits": window_calls.FrameUnits,
        "window_calls.WindowCall": window_calls.WindowCall,
        "table_schema.ColumnHistory": table_schema.ColumnHistory,
        "table_schema.KeyColumn": table_schema.KeyColumn,
        "table_schema.TableColumn": table_schema.TableColumn,
        "table_schema.TableSchema": table_schema.TableSchema,
        "table_schema.ValueFormat": table_schema.ValueFormat,
        "logical.AggCall": logical.AggCall,
        "logical.Field": logical.Field,
        "logical.JoinKind": logical.JoinKind,
        "logical.SortKey": logical.SortKey,
        "plan_properties.Distribution": plan_properties.Distribution,
        "plan_properties.DistributionKind": plan_properties.DistributionKind,
        "plan_properties.Properties": plan_properties.Properties,
        "plan_properties.WatermarkBound": plan_properties.WatermarkBound,
        "plan_properties.WatermarkColumn": plan_properties.WatermarkColumn,
        "plan.ChangeLog": plan.ChangeLog,
        "plan.ConflictBehavior": plan.ConflictBehavior,
        "plan.Dml": plan.Dml,
        "plan.EowcSort": plan.EowcSort,
        "plan.Exchange": plan.Exchange,
        "plan.Expand": plan.Expand,
        "plan.Filter": plan.Filter,
        "plan.Materialize": plan.Materialize,
        "plan.Now": plan.Now,
        "plan.Project": plan.Project,
        "plan.ProjectSet": plan.ProjectSet,
        "plan.Share": plan.Share,
        "plan.Source": plan.Source,
        "plan.TableScan": plan.TableScan,
        "plan.Union": plan.Union,
        "plan.Values": plan.Values,
        "plan.WatermarkFilter": plan.WatermarkFilter,
        "plan.AggState": plan_aggregates.AggState,
        "plan.DedupState": plan_aggregates.DedupState,
        "plan.HashAgg": plan_aggregates.HashAgg,
        "plan.LocalAgg": plan_aggregates.LocalAgg,
        "plan.SimpleAgg": plan_aggregates.SimpleAgg,
        "plan.AsOfJoin": plan_joins.AsOfJoin,
        "plan.DynamicFilter": plan_joins.DynamicFilter,
        "plan.HashJoin": plan_joins.HashJoin,
        "plan.JoinSide": plan_joins.JoinSide,
        "plan.PassedRows": plan_joins.PassedRows,
        "plan.TemporalJoin": plan_joins.TemporalJoin,
        "plan.Dedup": plan_ordered.Dedup,
        "plan.LocalTopN": plan_ordered.LocalTopN,
        "plan.OverWindow": plan_ordered.OverWindow,
        "plan.TopN": plan_ordered.TopN,
        "graph.ExchangeSource": graph.ExchangeSource,
        "graph.Fragment": graph.Fragment,
        "graph.Job": graph.Job,
        "graph.StreamGraph": graph.StreamGraph,
        "catalog.Catalog": catalog.Catalog,
        "catalog.ColumnDesc": catalog.ColumnDesc,
        "catalog.FunctionDesc": catalog.FunctionDesc,
        "catalog.FunctionKind": catalog.FunctionKind,
        "catalog.FunctionLanguage": catalog.FunctionLanguage,
        "catalog.Generated": catalog.Generated,
        "catalog.Identity": catalog.Identity,
        "catalog.IndexDefinition": catalog.IndexDefinition,
        "catalog.IndexKey": catalog.IndexKey,
        "catalog.JobStatus": catalog.JobStatus,
        "catalog.Relation": catalog.Relation,
        "catalog.RelationKind": catalog.RelationKind,
        "catalog.Watermark": catalog.Watermark,
    }
)
