"""The classes whose values are stored, each under a tag of its own.

Tags, fields and the values of enums are the format of what is on disk: a class may get another name or place, and its
tag stays; a field may be added with a default, and none goes or changes its meaning. `test_stored_classes.py` compares
them with those of all versions before. Where another class takes over, the earlier one stays here with its tag, and
`UPGRADES` says what the codec makes of its values when it reads them.

Tags have the form `file.Class` because the classes stood in such files when tags were made of their places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from risingpy.connectors import included_columns
from risingpy.connectors.formats import decoder
from risingpy.connectors.secrets import hidden_options
from risingpy.connectors.targets import target
from risingpy.plan import (
    aggregates,
    expressions,
    graph,
    joins,
    logical,
    operators,
    ordered,
    properties,
    window_calls,
)
from risingpy.plan.catalog import (
    columns,
    constraints,
    databases,
    earlier_catalog,
    earlier_relation,
    functions,
    relations,
    roles,
    secrets,
    snapshot,
    upstream_table,
    webhook,
)
from risingpy.storage.codec import table_schema
from risingpy.types import families, sql_type

STORED_CLASSES: Mapping[str, type] = MappingProxyType(
    {
        "sql_type.SqlType": sql_type.SqlType,
        "sql_type.TypeKind": families.TypeKind,
        "nodes.Call": expressions.Call,
        "nodes.Case": expressions.Case,
        "nodes.Cast": expressions.Cast,
        "nodes.CorrelatedRef": expressions.CorrelatedRef,
        "nodes.InputRef": expressions.InputRef,
        "nodes.Literal": expressions.Literal,
        "nodes.Parameter": expressions.Parameter,
        "nodes.Subquery": expressions.Subquery,
        "nodes.SubqueryKind": expressions.SubqueryKind,
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
        "logical.Aggregate": logical.Aggregate,
        "logical.Apply": logical.Apply,
        "logical.ChangeLog": logical.ChangeLog,
        "logical.Expand": logical.Expand,
        "logical.Field": logical.Field,
        "logical.Filter": logical.Filter,
        "logical.Join": logical.Join,
        "logical.JoinKind": logical.JoinKind,
        "logical.Limit": logical.Limit,
        "logical.OverWindow": logical.OverWindow,
        "logical.Project": logical.Project,
        "logical.ProjectSet": logical.ProjectSet,
        "logical.Recursion": logical.Recursion,
        "logical.RecursiveScan": logical.RecursiveScan,
        "logical.Scan": logical.Scan,
        "logical.Sort": logical.Sort,
        "logical.SortKey": logical.SortKey,
        "logical.TopN": logical.TopN,
        "logical.Union": logical.Union,
        "logical.Values": logical.Values,
        "plan_properties.Distribution": properties.Distribution,
        "plan_properties.DistributionKind": properties.DistributionKind,
        "plan_properties.Properties": properties.Properties,
        "plan_properties.WatermarkBound": properties.WatermarkBound,
        "plan_properties.WatermarkColumn": properties.WatermarkColumn,
        "plan.ChangeLog": operators.StreamChangeLog,
        "plan.ConflictBehavior": operators.ConflictBehavior,
        "plan.Changelog": operators.Changelog,
        "plan.Dml": operators.Dml,
        "plan.EowcSort": operators.EowcSort,
        "plan.Exchange": operators.Exchange,
        "plan.Expand": operators.StreamExpand,
        "plan.Filter": operators.StreamFilter,
        "plan.Materialize": operators.Materialize,
        "plan.Now": operators.Now,
        "plan.Project": operators.StreamProject,
        "plan.ProjectSet": operators.StreamProjectSet,
        "plan.Share": operators.Share,
        "plan.Source": operators.Source,
        "plan.TableInputs": operators.TableInputs,
        "plan.SinkInput": operators.SinkInput,
        "plan.IntoTable": operators.IntoTable,
        "plan.TableScan": operators.TableScan,
        "plan.Union": operators.StreamUnion,
        "plan.Values": operators.StreamValues,
        "plan.WatermarkFilter": operators.WatermarkFilter,
        "plan.AggState": aggregates.AggState,
        "plan.DedupState": aggregates.DedupState,
        "plan.HashAgg": aggregates.HashAgg,
        "plan.LocalAgg": aggregates.LocalAgg,
        "plan.SimpleAgg": aggregates.SimpleAgg,
        "plan.AsOfJoin": joins.AsOfJoin,
        "plan.DynamicFilter": joins.DynamicFilter,
        "plan.HashJoin": joins.HashJoin,
        "plan.JoinSide": joins.JoinSide,
        "plan.PassedRows": joins.PassedRows,
        "plan.TemporalJoin": joins.TemporalJoin,
        "plan.Dedup": ordered.Dedup,
        "plan.LocalTopN": ordered.LocalTopN,
        "plan.OverWindow": ordered.StreamOverWindow,
        "plan.TopN": ordered.StreamTopN,
        "graph.ExchangeSource": graph.ExchangeSource,
        "graph.Fragment": graph.Fragment,
        "graph.Job": graph.Job,
        "graph.StreamGraph": graph.StreamGraph,
        "catalog.Catalog": earlier_catalog.EarlierCatalog,
        "catalog.ColumnDesc": columns.ColumnDesc,
        "constraints.CheckConstraint": constraints.CheckConstraint,
        "constraints.ForeignKey": constraints.ForeignKey,
        "constraints.ReferentialAction": constraints.ReferentialAction,
        "constraints.UniqueRule": constraints.UniqueRule,
        "catalog.FunctionDesc": functions.FunctionDesc,
        "catalog.FunctionKind": functions.FunctionKind,
        "catalog.FunctionLanguage": functions.FunctionLanguage,
        "catalog.Generated": columns.Generated,
        "catalog.Identity": columns.Identity,
        "catalog.IndexDefinition": relations.IndexDefinition,
        "catalog.IndexKey": relations.IndexKey,
        "catalog.JobStatus": relations.JobStatus,
        "catalog.Relation": earlier_relation.EarlierRelation,
        "catalog.RelationKind": earlier_relation.EarlierKind,
        "catalog.Watermark": columns.Watermark,
        "hidden_options.ConnectionOption": hidden_options.ConnectionOption,
        "hidden_options.HiddenOptions": hidden_options.HiddenOptions,
        "hidden_options.SealedOption": hidden_options.SealedOption,
        "hidden_options.SecretOption": hidden_options.SecretOption,
        "secrets.ConnectionDesc": secrets.ConnectionDesc,
        "secrets.SecretDesc": secrets.SecretDesc,
        "relations.Index": relations.Index,
        "relations.InternalTable": relations.InternalTable,
        "relations.MaterializedView": relations.MaterializedView,
        "relations.ExternalSource": relations.ExternalSource,
        "sink.SinkType": target.SinkType,
        "source.IncludedColumn": included_columns.IncludedColumn,
        "source.MessageFormat": decoder.MessageFormat,
        "relations.FollowedForm": relations.FollowedForm,
        "relations.Sink": relations.Sink,
        "relations.Subscription": relations.Subscription,
        "relations.Table": relations.Table,
        "relations.View": relations.View,
        "snapshot.Catalog": snapshot.Catalog,
        "databases.DatabaseDesc": databases.DatabaseDesc,
        "roles.Membership": roles.Membership,
        "roles.Role": roles.Role,
        "upstream_table.UpstreamTable": upstream_table.UpstreamTable,
        "webhook.Webhook": webhook.Webhook,
    }
)

UPGRADES: Mapping[type, Callable[[Any], object]] = MappingProxyType(
    {
        earlier_relation.EarlierRelation: earlier_relation.relation_of,
        earlier_catalog.EarlierCatalog: earlier_catalog.catalog_of,
    }
)
"""What is made of the values of classes that only earlier versions wrote."""
