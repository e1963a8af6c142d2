"""A bound statement: what it takes, what it gives, and how to run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from risingpy.batch import Parameters as Parameters
from risingpy.frontend.results import Field, Result
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class Command:
    """What a module of `statements/` makes of a parsed statement.

    `run` is called once per execution, with a value per parameter. `fields` is None for a statement without rows.
    One that `lasts` may be run again as long as catalog and settings stay what they are.
    """

    run: Callable[[Parameters], Result]
    fields: tuple[Field, ...] | None = None
    parameter_types: tuple[SqlType, ...] = ()
    parameter_oids: tuple[int, ...] = ()
    lasts: bool = True
