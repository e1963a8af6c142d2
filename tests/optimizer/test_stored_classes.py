"""What stores hold can be read for ever: tags, fields and enum values are added to, and none of them goes.

`goldens/stored_classes.txt` has a line for each tag. After an addition, `pytest --update` writes it anew; what else
changes there makes older stores unreadable, and is refused also with --update.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import get_args

import pytest

from risingpy.plan.expressions import Expr
from risingpy.plan.logical import LogicalPlan
from risingpy.plan.operators import StreamPlan
from risingpy.plan.stored_classes import STORED_CLASSES

GOLDEN = Path(__file__).parent / "goldens" / "stored_classes.txt"


def parts_of(cls: type) -> Iterator[str]:
    """The values of an enum; the fields of a dataclass, with `?` those that may be left out."""
    if issubclass(cls, Enum):
        yield from sorted(repr(each.value) for each in cls)
        return
    for field in dataclasses.fields(cls):
        if not field.init:  # computed of the others
            continue
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        yield field.name if needed else f"{field.name}?"


def test_nothing_stored_goes(update_goldens: bool) -> None:
    now = {tag: list(parts_of(cls)) for tag, cls in STORED_CLASSES.items()}
    known = {}
    for line in GOLDEN.read_text().splitlines():
        tag, _, parts = line.partition(": ")
        known[tag] = parts.split(", ") if parts else []
    for tag, parts in known.items():
        assert tag in now, "stores hold values of this tag"
        assert set(parts) <= set(now[tag]), f"stores hold values of {tag} with these parts"
        if not issubclass(STORED_CLASSES[tag], Enum):
            added = set(now[tag]) - set(parts)
            assert all(part.endswith("?") for part in added), f"stores hold values of {tag} without {added}"
    text = "".join(f"{tag}: {', '.join(parts)}".rstrip() + "\n" for tag, parts in sorted(now.items()))
    if update_goldens:
        GOLDEN.write_text(text)
    assert GOLDEN.read_text() == text, "added to: pytest --update"


def test_each_class_has_one_tag() -> None:
    assert len(set(STORED_CLASSES.values())) == len(STORED_CLASSES)


@pytest.mark.parametrize("operator", [*get_args(StreamPlan), *get_args(LogicalPlan), *get_args(Expr)])
def test_every_operator_can_be_stored(operator: type) -> None:
    assert operator in STORED_CLASSES.values()
