"""What binding a statement needs to know, and what it finds out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import ParamSpec, Protocol, TypeVar

from sqlglot import exp

from risingpy.errors import Check, FeatureNotSupported, StatementTooComplex, unchecked
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.scope.uses import RelationUse, check_uses
from risingpy.frontend.binder.typing.coercion import Coercer
from risingpy.frontend.binder.typing.parameters import Parameters
from risingpy.frontend.binder.typing.type_names import KnownTypes
from risingpy.frontend.system_catalog.registry import object_names
from risingpy.plan.catalog import DEFAULT_SCHEMA, Catalog, FunctionDesc
from risingpy.plan.expressions import CorrelatedRef, Expr, Literal, Parameter
from risingpy.plan.logical import LogicalPlan
from risingpy.types import SqlType
from risingpy.types.system_types import is_of_system


@dataclass(frozen=True, slots=True)
class SessionValues:
    """What current_user and its like give, and the time zone that timestamptz literals without an offset are in."""

    user: str = "root"  # the role that the session acts as
    session_user: str = "root"
    is_superuser: bool = True
    database: str = "dev"
    schema: str | None = DEFAULT_SCHEMA
    temporary_schema: str | None = None  # the session's own
    only_reads: bool = False  # the server follows another one
    version: str = "PostgreSQL 15.0 (RisingPy)"
    time_zone: str = "UTC"
    process_id: int = 0
    role_id: int | None = None  # the role whose rights are checked; None: nobody's
    data_directory: str = ""  # whose counters number the rows of identity columns
    setting: Callable[[str], str | None] = lambda name: None
    channels: tuple[str, ...] = ()  # to which the session listens
    procedure: str = ""  # that runs
    arguments: tuple[tuple[str, SqlType], ...] = ()  # its arguments by name: `$1`, `$2` and so on
    check: Check = unchecked  # asked while a statement of the session is bound


NodeBinders = Mapping[type[exp.Expr], Callable[..., Expr]]  # for each node: (the scope's ExpressionBinder, the node)


class RowBinder(Protocol):
    """Binds expressions over the row that a subquery stands in."""

    context: BindContext

    def outer_column(self, tree: exp.Column) -> Expr: ...

    def outer_star(self, tree: exp.Column) -> list[tuple[str, Expr]]: ...

    def outer_aggregate(self, tree: exp.Expr) -> Expr: ...


@dataclass(slots=True)
class Outer:
    """What a subquery may read of the row that it stands in. `values` collects what it does read, over that row."""

    binder: RowBinder
    values: list[Expr] = field(default_factory=list)

    def reference(self, value: Expr) -> Expr:
        """How the subquery calls a value of the row. A constant is itself, so that a lookup by it stays one."""
        if isinstance(value, Literal | Parameter):
            return value
        if value not in self.values:
            self.values.append(value)
        return CorrelatedRef(self.values.index(value), value.type)


@dataclass(slots=True)
class CallArguments(Outer):
    """What a function's body may read of its call: the arguments, which are no row that the body could aggregate."""


@dataclass(frozen=True, slots=True)
class SystemUse:
    """A system relation, a function of catalog or session, or a type of system catalogs, and where it stands.

    `of_rows`: the name is a relation's, and means the type of its rows as they are now.
    """

    name: str
    position: int | None
    is_relation: bool = False
    of_rows: bool = False


@dataclass(frozen=True, slots=True)
class SetConfig:
    """A call of set_config with constants and parameters: the name, the value, and whether the transaction ends it."""

    name: Expr
    value: Expr
    local: Expr


@dataclass(frozen=True, slots=True)
class NamedRelation:
    """A relation that a query names. `start`: where the name stands in the text, in characters from 0.

    `is_argument`: of a function, TUMBLE(t, …), as which it may have an alias. What has no alias of its own is called by
    its name; in `name AS changelog FROM t` it cannot have one, and counts as if it had.
    """

    start: int
    relation_id: int
    has_alias: bool
    is_argument: bool = False


@dataclass(frozen=True, slots=True)
class ExpandedView:
    """A plan that stands for a plain view, which is `relation_id`. It is known by its identity, so it is kept here."""

    plan: LogicalPlan
    relation_id: int


@dataclass(slots=True)
class BindContext:
    """What binding one query of a statement needs. A subquery has a context of its own, with its own `outer`.

    `dependencies` collects the ids of the relations that the statement names, views included, `named` where those of a
    query stand, `functions` those of the user's functions, `uses` what the statement does with each relation, and
    `system_uses` what it needs of the system. `views` are the plans of the plain views that it names, by their `id`.
    `settings` are the calls of set_config that act before the first row. `node_binders` is the table of `nodes.py`.
    `subqueries` binds a query that stands in this one, with the common table expressions that are known there, and
    `bodies` that of a function, which knows none; `inlining` are the ids of the functions in whose bodies it stands.
    `bodies_in` are the catalog and the search path in which bodies are bound, if these are others than the query's.
    `scopes`, if it is given, collects what the FROM of each SELECT offers, by the SELECT's `number_of`.
    """

    catalog: Catalog
    search_path: tuple[str, ...]
    parameters: Parameters
    session: SessionValues
    node_binders: NodeBinders
    dependencies: list[int] = field(default_factory=list)
    named: list[NamedRelation] = field(default_factory=list)
    functions: list[int] = field(default_factory=list)
    settings: list[SetConfig] = field(default_factory=list)
    uses: list[RelationUse] = field(default_factory=list)
    system_uses: list[SystemUse] = field(default_factory=list)
    views: dict[int, ExpandedView] = field(default_factory=dict)
    scopes: dict[int, Scope] | None = None
    outer: Outer | None = None
    subqueries: Callable[[exp.Expr, Outer], LogicalPlan] | None = None
    bodies: Callable[[exp.Expr, Outer, int], LogicalPlan] | None = None
    inlining: frozenset[int] = frozenset()
    bodies_in: tuple[Catalog, tuple[str, ...]] | None = None
    coercer: Coercer = field(init=False)

    def __post_init__(self) -> None:
        names = object_names(self.catalog, self.search_path)
        self.coercer = Coercer(self.parameters, self.session.time_zone, names)

    def with_body(self, function: FunctionDesc) -> FunctionDesc:
        """The function with the body that is bound here."""
        return function if self.bodies_in is None else self.bodies_in[0].functions.get(function.function_id, function)

    def of_body(self, function_id: int, outer: Outer | None) -> BindContext:
        """The context of a function's body, whose text is another one. The values of the call are in `outer`."""
        catalog, search_path = self.bodies_in or (self.catalog, self.search_path)
        inlining = self.inlining | {function_id}
        return replace(self, catalog=catalog, search_path=search_path, outer=outer, inlining=inlining)

    @property
    def types(self) -> KnownTypes:
        """The types that users have created."""
        return KnownTypes(self.catalog, self.search_path)

    def check_uses(self) -> None:
        """Raises InsufficientPrivilege unless the session's role may do what the statement does."""
        if self.session.role_id is not None:
            check_uses(self.catalog, self.session.role_id, self.uses, self.functions)

    def note_type(self, sql_type: SqlType, position: int) -> None:
        """Notes a type of system catalogs: nothing that is stored can have one."""
        if is_of_system(sql_type):
            self.system_uses.append(SystemUse(sql_type.name, position))

    @property
    def constants(self) -> Mapping[str, str | None]:
        """The functions that give a session value."""
        s = self.session
        users = dict.fromkeys(("current_user", "current_role", "user"), s.user)
        databases = dict.fromkeys(("current_database", "current_catalog"), s.database)
        return {**users, "session_user": s.session_user, **databases, "current_schema": s.schema, "version": s.version}


TYPE_FOR_ROWS = "CREATE TYPE … AS (…) gives a type of rows a name that stays what it is."


def refuse_system(uses: Sequence[SystemUse], what: str) -> None:
    """Raises FeatureNotSupported where something stored needs the system: what that says changes without epochs."""
    for use in uses:
        if use.of_rows:
            message = f"the type of the rows of {use.name} cannot be used in {what}"
            raise FeatureNotSupported(message, position=use.position, hint=TYPE_FOR_ROWS)
        kind = "relation" if use.is_relation else "function or type"
        message = f'the system {kind} "{use.name}" cannot be used in {what}'
        raise FeatureNotSupported(message, position=use.position, hint="Only a query can read the system catalogs.")


P = ParamSpec("P")
R = TypeVar("R")


def depth_limited(bind: Callable[P, R]) -> Callable[P, R]:
    """Turns a statement that nests deeper than Python's stack into PostgreSQL's error (54001)."""

    @wraps(bind)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return bind(*args, **kwargs)
        except RecursionError:
            raise StatementTooComplex from None

    return limited
