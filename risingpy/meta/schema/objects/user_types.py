"""CREATE and ALTER of types that users make: from one `MetaState` to the next, as in `relations.py`.

Columns, plans and jobs have an enum with all its labels in them (`plan/enum_forms.py`). A change of the labels puts the
new form into all of them at once, between two epochs. No stored row changes: it has numbers, whose meaning stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar, assert_never

from risingpy.errors import (
    FeatureNotSupported,
    SqlError,
    UndefinedObject,
    WrongObjectType,
)
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.plan.catalog import (
    Catalog,
    CompositeDesc,
    CreatedRelation,
    DomainDesc,
    EnumDesc,
    Sink,
    UserType,
)
from risingpy.plan.enum_forms import UserForm, enums_in, older_forms_in, with_form
from risingpy.plan.graph import Job
from risingpy.plan.text_of_enums import makes_enums_of_texts, makes_texts_of_enums
from risingpy.types.enums.enum_type import STEP, EnumLabel

MOST_LABEL_BYTES = 63  # PostgreSQL's NAMEDATALEN - 1
Held = TypeVar("Held", bound=CreatedRelation | UserType | Job)
_REFUSED_HINT = "Drop it, alter the type, and create it again."


@dataclass(frozen=True, slots=True)
class TypeTarget:
    """A type that a statement names."""

    schema_name: str | None
    name: str
    search_path: tuple[str, ...]
    shown: str


@dataclass(frozen=True, slots=True)
class NewEnum:
    """CREATE TYPE … AS ENUM."""

    schema_name: str
    name: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewValue:
    """ALTER TYPE … ADD VALUE: `before` or after the label `neighbour` (None: after all)."""

    text: str
    before: bool
    neighbour: str | None


Texts = Callable[[MetaState, MetaState], MetaState]
"""Gives the texts of the second state, which has a type under its new name or label, what the first one's mean."""


def required(state: MetaState, target: TypeTarget) -> UserType:
    """The type. Raises UndefinedObject."""
    found = state.catalog.find_type(target.name, target.schema_name, target.search_path)
    if found is None:
        raise UndefinedObject(f'type "{target.shown}" does not exist')
    return found


def required_enum(state: MetaState, target: TypeTarget) -> EnumDesc:
    """The enum. Raises UndefinedObject, and WrongObjectType for a type of another kind."""
    found = required(state, target)
    if not isinstance(found, EnumDesc):
        raise WrongObjectType(f"{found.name} is not an enum")
    return found


# -- CREATE TYPE --------------------------------------------------------------------------------------------------


def add_enum(state: MetaState, new: NewEnum) -> MetaState:
    """`state` with the enum. Raises 42710 if there is a type of that name, 23505 for two equal labels."""
    for number, text in enumerate(new.labels):
        check_label(text)
        if text in new.labels[:number]:
            message = 'duplicate key value violates unique constraint "pg_enum_typid_label_index"'
            raise SqlError(message, sqlstate="23505", detail=f'The label "{text}" is given twice.')
    allocate = IdAllocator(state.next_id)
    type_id, array_id = allocate(), allocate()
    labels = tuple(EnumLabel(allocate(), text, number * STEP) for number, text in enumerate(new.labels, 1))
    check_new_type_name(state, new.schema_name, new.name)
    made = EnumDesc(type_id, array_id, new.schema_name, new.name, labels, database_id=state.catalog.database_id)
    return with_type(replace(state, next_id=allocate.next_id), made)


def check_new_type_name(state: MetaState, schema: str, name: str) -> None:
    """Raises 3F000 without the schema, 42710 if it has a type, or a relation, whose row is a type, of that name."""
    if schema not in state.catalog.schemas:
        raise UndefinedObject(f'schema "{schema}" does not exist', sqlstate="3F000")
    taken = {array for each in state.catalog.own_types if each.schema_name == schema for array in (each.array_name,)}
    is_taken = state.catalog.find_type(name, schema, ()) is not None or name in taken
    if is_taken or state.catalog.find(name, schema, ()) is not None:
        raise SqlError(f'type "{name}" already exists', sqlstate="42710")


def check_label(text: str) -> None:
    """Raises 42602 for a label that is too long."""
    if not text or len(text.encode()) > MOST_LABEL_BYTES:
        detail = f"Labels must have at least one byte, and {MOST_LABEL_BYTES} at most."
        raise SqlError(f'invalid enum label "{text}"', sqlstate="42602", detail=detail)


# -- ALTER TYPE ---------------------------------------------------------------------------------------------------


def with_value(state: MetaState, target: TypeTarget, value: NewValue) -> MetaState:
    """`state` in which the enum has one more label.

    Raises 42710 if it has it already, 22023 without the neighbour, 54000 if there is no number between the neighbours,
    and FeatureNotSupported if a view has made NULL of that text, which is to be a value now.
    """
    found = required_enum(state, target)
    check_label(value.text)
    if any(label.text == value.text for label in found.labels):
        raise SqlError(f'enum label "{value.text}" already exists', sqlstate="42710")
    _refuse_jobs(state, found, makes_enums_of_texts, "add a value to", "turns texts into its values")
    place = _place(found, value)
    allocate = IdAllocator(state.next_id)
    label = EnumLabel(allocate(), value.text, _number_at(found, place))
    changed = replace(found, labels=(*found.labels[:place], label, *found.labels[place:]))
    return _with_form(replace(state, next_id=allocate.next_id), changed)


def _place(found: EnumDesc, value: NewValue) -> int:
    if value.neighbour is None:
        return len(found.labels)
    return _index(found, value.neighbour) + (not value.before)


def _index(found: EnumDesc, text: str) -> int:
    place = next((i for i, label in enumerate(found.labels) if label.text == text), None)
    if place is None:
        raise SqlError(f'"{text}" is not an existing enum label', sqlstate="22023")
    return place


def _number_at(found: EnumDesc, place: int) -> int:
    """A number that no label has had, between those of the neighbours."""
    if not found.labels:
        return STEP
    if place == 0:
        return found.labels[0].number - STEP
    below = found.labels[place - 1].number
    if place == len(found.labels):
        return below + STEP
    middle = (below + found.labels[place].number) // 2
    if middle == below:
        raise SqlError(
            f'there is no place left for a value between "{found.labels[place - 1].text}" and '
            f'"{found.labels[place].text}" of enum {found.name}',
            sqlstate="54000",
            hint="Make a new type with all the values, and ALTER TABLE … ALTER COLUMN … TYPE to it.",
        )
    return middle


def with_renamed_value(state: MetaState, target: TypeTarget, old: str, new: str, texts: Texts) -> MetaState:
    """`state` in which a label has another text. Raises 22023 without it, 42710 if there is the new one already.

    Raises FeatureNotSupported if a job has given the old text to its rows, or to another system.
    """
    found = required_enum(state, target)
    check_label(new)
    place = _index(found, old)
    if any(label.text == new for label in found.labels):
        raise SqlError(f'enum label "{new}" already exists', sqlstate="42710")
    _refuse_jobs(state, found, makes_texts_of_enums, "rename a value of", "has texts of its values")
    label = replace(found.labels[place], text=new)
    changed = replace(found, labels=(*found.labels[:place], label, *found.labels[place + 1 :]))
    return texts(state, _with_form(state, changed))


def moved(state: MetaState, target: TypeTarget, texts: Texts, *, name: str | None, schema: str | None) -> MetaState:
    """`state` in which the type has another name, or is in another schema. Raises what `check_new_type_name` raises."""
    found = required(state, target)
    changed: UserType = replace(found, name=name or found.name, schema_name=schema or found.schema_name)
    if (changed.schema_name, changed.name) == (found.schema_name, found.name) and schema is not None:
        return state
    check_new_type_name(state, changed.schema_name, changed.name)
    return texts(state, _with_form(state, changed))


def with_types_moved(state: MetaState, old: str, new: str, texts: Texts) -> MetaState:
    """`state` in which the types of the database's schema `old` are in the schema `new`, which it is to become."""
    for found in [each for each in state.catalog.own_types if each.schema_name == old]:
        state = texts(state, _with_form(state, replace(found, schema_name=new)))
    return state


def _refuse_jobs(
    state: MetaState, found: EnumDesc, reads: Callable[[object, int], bool], change: str, what: str
) -> None:
    """What a job has stored was computed with the labels of then. It cannot take it back with those of now."""
    for relation in state.catalog.relations.values():
        job = state.jobs.get(relation.relation_id) or state.stopped.get(relation.relation_id)
        of_sink = isinstance(relation, Sink) and reads is makes_texts_of_enums and found.type_id in enums_in(relation)
        if of_sink or (job is not None and reads(job, found.type_id)):
            message = f'cannot {change} type {found.name}: {relation.noun} "{relation.name}" {what}'
            raise FeatureNotSupported(message, hint=_REFUSED_HINT)


def _with_form(state: MetaState, changed: UserType) -> MetaState:
    """`state` with the type as given, in all that has it."""
    catalog, form = state.catalog, form_of(changed)

    def after(jobs: dict[int, Job]) -> dict[int, Job]:
        return {key: with_form(job, form) for key, job in jobs.items()}

    state = replace(
        state,
        catalog=replace(
            catalog,
            relations={key: with_form(each, form) for key, each in catalog.relations.items()},
            internal_tables={key: with_form(each, form) for key, each in catalog.internal_tables.items()},
            functions={key: with_form(each, form) for key, each in catalog.functions.items()},
            types={key: with_form(each, form) for key, each in catalog.types.items()},
        ),
        jobs=after(dict(state.jobs)),
        stopped=after(dict(state.stopped)),
        graph_version=state.graph_version + 1,
    )
    return with_type(state, changed)


def form_of(found: UserType) -> UserForm:
    """What columns and plans know of a type."""
    match found:
        case EnumDesc():
            return found.enum
        case DomainDesc():
            return found.domain
        case CompositeDesc():
            return found.composite
        case _:
            assert_never(found)


def with_type(state: MetaState, changed: UserType) -> MetaState:
    """`state` with the type as given in the catalog, and nowhere else."""
    types = {**state.catalog.types, changed.type_id: changed}
    return replace(state, catalog=replace(state.catalog, version=state.catalog.version + 1, types=types))


def with_newest_enums(before: MetaState, after: MetaState) -> MetaState:
    """`after` with what a change has made in the newest forms of enums.

    A statement plans its change on a state of before, and ALTER TYPE may have come in between.
    """
    catalog = after.catalog
    relations = _renewed(before.catalog.relations, catalog.relations, catalog)
    types = _renewed(before.catalog.types, catalog.types, catalog)
    jobs = _renewed(before.jobs, after.jobs, catalog)
    if relations is not catalog.relations or types is not catalog.types:
        after = replace(after, catalog=replace(catalog, relations=relations, types=types))
    return after if jobs is after.jobs else replace(after, jobs=jobs)


def _check_domains(value: CreatedRelation | UserType | Job, catalog: Catalog) -> None:
    """Raises UndefinedObject for a column of a domain that was dropped since the statement was bound."""
    for column in () if isinstance(value, Job | EnumDesc | DomainDesc | CompositeDesc) else value.columns:
        if column.domain is not None and column.domain.oid not in catalog.types:
            raise UndefinedObject(f'type "{column.domain.name}" does not exist')


def _renewed(before: Mapping[int, Held], after: Mapping[int, Held], catalog: Catalog) -> Mapping[int, Held]:
    found: dict[int, Held] = {}
    newest = {oid: form_of(form) for oid, form in catalog.types.items()} if after is not before else {}
    for key, value in after.items() if after is not before else ():
        if value is not before.get(key):
            renewed = value
            _check_domains(value, catalog)
            for oid in older_forms_in(value, newest) if newest else ():
                renewed = with_form(renewed, newest[oid])
            if renewed is not value:
                found[key] = renewed
    return {**after, **found} if found else after
