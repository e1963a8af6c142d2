"""What stores contain stays readable: tags, fields and enum values may be added, and none may be removed.

`stored_classes.txt` has a line for each tag. After an addition, `pytest --update` writes it anew; what else changes
there makes older stores unreadable, and is refused also with --update. The tag of a new class is `file.Class`, after
the file in which it stands then.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from risingpy.plan import operators
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import GivenRows, LogicalPlan, SystemScan
from risingpy.plan.operators import StreamPlan
from risingpy.plan.stored_classes import STORED_CLASSES

NEVER_STORED = {SystemScan, GivenRows}  # nothing that is stored may read a system relation, or a statement's rows
GOLDEN = Path(__file__).parent / "stored_classes.txt"


def parts_of(cls: type) -> Iterator[str]:
    """The values of an enum; the fields of a dataclass, with `?` those that may be left out."""
    if issubclass(cls, Enum):
        yield from sorted(repr(each.value) for each in cls)
        return
    assert dataclasses.is_dataclass(cls)
    for field in dataclasses.fields(cls):
        if not field.init:  # computed of the others
            continue
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        yield field.name if needed else f"{field.name}?"


def test_nothing_stored_goes(update_goldens: bool) -> None:
    now = {tag: list(parts_of(cls)) for tag, cls in STORED_CLASSES.items()}
    known = {}
    for line in GOLDEN.read_text().splitlines():
        tag, _, listed = line.partition(": ")
        known[tag] = listed.split(", ") if listed else []
    for tag, parts in known.items():
        assert tag in now, "stores hold values of this tag"
        lost = {part.rstrip("?") for part in parts} - {part.rstrip("?") for part in now[tag]}
        assert not lost, f"stores hold values of {tag} with {lost}"
        if not issubclass(STORED_CLASSES[tag], Enum):
            needed = {part for part in now[tag] if not part.endswith("?")} - set(parts)
            assert not needed, f"stores hold values of {tag} without {needed}"
    text = "".join(f"{tag}: {', '.join(parts)}".rstrip() + "\n" for tag, parts in sorted(now.items()))
    if update_goldens:
        GOLDEN.write_text(text)
    assert GOLDEN.read_text() == text, "added to: pytest --update"


def test_each_class_has_one_tag() -> None:
    assert len(set(STORED_CLASSES.values())) == len(STORED_CLASSES)


def named_in(annotation: object) -> Iterator[type]:
    """The classes of ours that a type names: `tuple[Field, ...] | None` names Field. Protocols hold nothing."""
    protocol = getattr(annotation, "_is_protocol", False)
    if isinstance(annotation, type) and annotation.__module__.startswith("risingpy") and not protocol:
        yield annotation
    for part in get_args(annotation):
        yield from named_in(part)


@pytest.mark.parametrize("stored", [cls for cls in STORED_CLASSES.values() if dataclasses.is_dataclass(cls)])
def test_what_fields_hold_can_be_stored(stored: type) -> None:
    hints = get_type_hints(stored, localns=vars(operators))  # files of single operators name StreamPlan for mypy only
    for field in dataclasses.fields(stored):
        named = set(named_in(hints[field.name])) - NEVER_STORED if field.init else set()
        missing = named - set(STORED_CLASSES.values())
        assert not missing, f"{stored.__name__}.{field.name} may hold {missing}"


@pytest.mark.parametrize("operator", [*get_args(StreamPlan), *get_args(LogicalPlan), *get_args(Expr)])
def test_every_operator_can_be_stored(operator: type) -> None:
    assert (operator in STORED_CLASSES.values()) == (operator not in NEVER_STORED)
