"""What binding a statement needs to know, and what it finds out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import ParamSpec, TypeVar

from risingpy.errors import SqlError
from risingpy.frontend.binder.coercion import Coercer
from risingpy.frontend.binder.parameters import Parameters
from risingpy.optimizer.catalog import DEFAULT_SCHEMA, Catalog
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class SessionValues:
    """What current_user and its like give, and the time zone that timestamptz literals without an offset are in."""

    user: str = "root"
    database: str = "dev"
    schema: str | None = DEFAULT_SCHEMA
    version: str = "PostgreSQL 15.0 (RisingPy)"
    time_zone: str = "UTC"


@dataclass(slots=True)
class BindContext:
    """One statement's binding. `dependencies` collects the ids of the relations that it names, views included."""

    catalog: Catalog
    search_path: tuple[str, ...]
    parameters: Parameters
    session: SessionValues
    dependencies: list[int] = field(default_factory=list)
    coercer: Coercer = field(init=False)

    def __post_init__(self) -> None:
        self.coercer = Coercer(self.parameters, self.session.time_zone)

    @property
    def constants(self) -> Mapping[str, str | None]:
        """The functions that give a session value."""
        s = self.session
        users = dict.fromkeys(("current_user", "current_role", "session_user", "user"), s.user)
        databases = dict.fromkeys(("current_database", "current_catalog"), s.database)
        return {**users, **databases, "current_schema": s.schema, "version": s.version}


P = ParamSpec("P")
R = TypeVar("R")


def depth_limited(bind: Callable[P, R]) -> Callable[P, R]:
    """Turns a statement that nests deeper than Python's stack into PostgreSQL's error (54001)."""

    @wraps(bind)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return bind(*args, **kwargs)
        except RecursionError:
            raise SqlError(
                "stack depth limit exceeded", sqlstate="54001", hint="The statement nests its expressions too deeply."
            ) from None

    return limited


def make_context(
    catalog: Catalog,
    search_path: Sequence[str],
    parameter_types: Sequence[SqlType] = (),
    session: SessionValues | None = None,
) -> BindContext:
    return BindContext(catalog, tuple(search_path), Parameters(parameter_types), session or SessionValues())
