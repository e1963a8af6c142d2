"""The catalog as planners read it: an immutable snapshot of every relation and function.

snapshot           `Catalog`, which finds them by name and by what they read
any_relation       what all relations have, and what those have that a job keeps
relations          a class for each kind of relation, and unions of those classes
user_types         what CREATE TYPE makes
domains            what CREATE DOMAIN makes
sequences          what CREATE SEQUENCE makes, and which column a sequence belongs to
free_names         names of what nobody has named
columns            what a relation has as columns, and the watermark over one of them
comments           what COMMENT ON says of objects
constraints        what the rows of a table must satisfy
index_definition   what CREATE INDEX says of an index
index_keys         the keys of an index as expressions over the rows that it indexes
temporary          which relations a session has as its own, or a statement has made for itself
upstream_table     which table of another system a table copies
webhook            how HTTP requests add rows to a table
databases          what CREATE DATABASE makes
functions          what CREATE FUNCTION and CREATE AGGREGATE make
secrets            what CREATE SECRET and CREATE CONNECTION make, and who uses it
roles              users and groups
earlier_catalog    the record of a catalog in stores of before there were several databases
acl                lists of rights
rights             whether a role may do something
earlier_relation   the record of a relation in stores of earlier versions

The meta service makes these and stores them; the frontend, the optimizer, the batch engine and tasks read them.
"""

from risingpy.plan.catalog.acl import ReadColumns
from risingpy.plan.catalog.any_relation import JobRelation, JobStatus
from risingpy.plan.catalog.columns import (
    GREATEST_INTEGERS,
    ROW_ID,
    ColumnDesc,
    Counting,
    Generated,
    Identity,
    RowRetention,
    Watermark,
    identity_bounds,
)
from risingpy.plan.catalog.comments import CommentDesc, CommentedKind
from risingpy.plan.catalog.constraints import (
    CheckConstraint,
    ForeignKey,
    ReferentialAction,
    TableConstraint,
    UniqueRule,
)
from risingpy.plan.catalog.databases import DEFAULT_DATABASE_ID, DEFAULT_SCHEMA, FIRST_DATABASES, DatabaseDesc
from risingpy.plan.catalog.domains import DomainDesc, DomainType
from risingpy.plan.catalog.functions import FunctionDesc, FunctionKind, FunctionLanguage
from risingpy.plan.catalog.index_definition import IndexDefinition, IndexKey, IndexPredicate, NearestRule
from risingpy.plan.catalog.relations import (
    CreatedRelation,
    Deferrable,
    ExternalSource,
    FollowedForm,
    FollowedRelation,
    Index,
    IndexedRelation,
    InternalTable,
    MaterializedView,
    QueryRelation,
    RecoverableRelation,
    Relation,
    RelationClass,
    ScannedRelation,
    Sink,
    StoredRelation,
    Subscription,
    Table,
    View,
)
from risingpy.plan.catalog.roles import (
    BOOTSTRAP_NAME,
    BOOTSTRAP_ROLE_ID,
    FIRST_ROLES,
    READ_ALL_STATS_ROLE_ID,
    UNLIMITED,
    Membership,
    Role,
    roles_of,
)
from risingpy.plan.catalog.secrets import ConnectionDesc, SecretDesc
from risingpy.plan.catalog.sequences import NumberSequence, OwningColumn
from risingpy.plan.catalog.snapshot import INTERNAL_PREFIX, Catalog
from risingpy.plan.catalog.temporary import (
    OWN_TEMPORARY_SCHEMA,
    is_of_session,
    is_temporary,
    is_temporary_schema,
    temporary_schema,
)
from risingpy.plan.catalog.upstream_table import UpstreamTable
from risingpy.plan.catalog.user_types import CompositeDesc, EnumDesc, UserType
from risingpy.plan.catalog.webhook import Webhook

__all__ = [
    "BOOTSTRAP_NAME",
    "BOOTSTRAP_ROLE_ID",
    "DEFAULT_DATABASE_ID",
    "DEFAULT_SCHEMA",
    "FIRST_DATABASES",
    "FIRST_ROLES",
    "GREATEST_INTEGERS",
    "INTERNAL_PREFIX",
    "OWN_TEMPORARY_SCHEMA",
    "READ_ALL_STATS_ROLE_ID",
    "ROW_ID",
    "UNLIMITED",
    "Catalog",
    "CheckConstraint",
    "ColumnDesc",
    "CommentDesc",
    "CommentedKind",
    "CompositeDesc",
    "ConnectionDesc",
    "Counting",
    "CreatedRelation",
    "DatabaseDesc",
    "Deferrable",
    "DomainDesc",
    "DomainType",
    "EnumDesc",
    "ExternalSource",
    "FollowedForm",
    "FollowedRelation",
    "ForeignKey",
    "FunctionDesc",
    "FunctionKind",
    "FunctionLanguage",
    "Generated",
    "Identity",
    "Index",
    "IndexDefinition",
    "IndexKey",
    "IndexPredicate",
    "IndexedRelation",
    "InternalTable",
    "JobRelation",
    "JobStatus",
    "MaterializedView",
    "Membership",
    "NearestRule",
    "NumberSequence",
    "OwningColumn",
    "QueryRelation",
    "ReadColumns",
    "RecoverableRelation",
    "ReferentialAction",
    "Relation",
    "RelationClass",
    "Role",
    "RowRetention",
    "ScannedRelation",
    "SecretDesc",
    "Sink",
    "StoredRelation",
    "Subscription",
    "Table",
    "TableConstraint",
    "UniqueRule",
    "UpstreamTable",
    "UserType",
    "View",
    "Watermark",
    "Webhook",
    "identity_bounds",
    "is_of_session",
    "is_temporary",
    "is_temporary_schema",
    "roles_of",
    "temporary_schema",
]
