"""Access control lists: who may do what with an object, who gave them the right, and whether they may pass it on.

The rules are PostgreSQL's (`src/backend/utils/adt/acl.c`): an owner never loses the right to grant; who loses the right
to grant takes along what they have granted; and nobody may give it back to whom they have it from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, IntFlag
from types import MappingProxyType
from typing import TypeAlias

from risingpy.errors import DependentObjectsStillExist, SqlError

INVALID_GRANT = "0LP01"
PUBLIC = 0  # the grantee that everybody is


class Privilege(IntFlag):
    """What an object's owner may allow to others; the bits are PostgreSQL's."""

    INSERT = 1
    SELECT = 2
    UPDATE = 4
    DELETE = 8
    TRUNCATE = 16
    REFERENCES = 32
    TRIGGER = 64
    EXECUTE = 128
    USAGE = 256
    CREATE = 512
    TEMPORARY = 1024
    CONNECT = 2048
    SET = 4096
    ALTER_SYSTEM = 8192

    @property
    def shown(self) -> str:
        """The words of SQL."""
        return str(self.name).replace("_", " ")


NOTHING = Privilege(0)
LETTERS: Mapping[Privilege, str] = MappingProxyType(dict(zip(Privilege, "arwdDxtXUCTcsA", strict=True)))
OF_RELATIONS = Privilege(127)
OF_COLUMNS = Privilege.INSERT | Privilege.SELECT | Privilege.UPDATE | Privilege.REFERENCES


class ObjectKind(Enum):
    """What rights are on. The values are stored; `LETTERS_OF_KINDS` has those that PostgreSQL shows otherwise."""

    RELATION = "r"
    COLUMN = "c"
    SCHEMA = "n"
    DATABASE = "d"
    FUNCTION = "f"
    SECRET = "s"
    CONNECTION = "S"
    LANGUAGE = "l"
    TYPE = "T"
    SEQUENCE = "sequence"
    PARAMETER = "parameter"
    TABLESPACE = "tablespace"


ALL_OF: Mapping[ObjectKind, Privilege] = MappingProxyType(
    {
        ObjectKind.RELATION: OF_RELATIONS,
        ObjectKind.COLUMN: OF_COLUMNS,
        ObjectKind.SCHEMA: Privilege.USAGE | Privilege.CREATE,
        ObjectKind.DATABASE: Privilege.CREATE | Privilege.TEMPORARY | Privilege.CONNECT,
        ObjectKind.FUNCTION: Privilege.EXECUTE,
        ObjectKind.SECRET: Privilege.USAGE,
        ObjectKind.CONNECTION: Privilege.USAGE,
        ObjectKind.LANGUAGE: Privilege.USAGE,
        ObjectKind.TYPE: Privilege.USAGE,
        ObjectKind.SEQUENCE: Privilege.USAGE | Privilege.SELECT | Privilege.UPDATE,
        ObjectKind.PARAMETER: Privilege.SET | Privilege.ALTER_SYSTEM,
        ObjectKind.TABLESPACE: Privilege.CREATE,
    }
)
"""What ALL PRIVILEGES means for each kind."""
LETTERS_OF_KINDS: Mapping[ObjectKind, str] = MappingProxyType({ObjectKind.SEQUENCE: "S", ObjectKind.CONNECTION: "c"})
"""The kinds whose letter in pg_default_acl is not their value."""
OF_PUBLIC: Mapping[ObjectKind, Privilege] = MappingProxyType(
    {
        ObjectKind.DATABASE: Privilege.TEMPORARY | Privilege.CONNECT,
        ObjectKind.FUNCTION: Privilege.EXECUTE,
        ObjectKind.LANGUAGE: Privilege.USAGE,
        ObjectKind.TYPE: Privilege.USAGE,
    }
)
"""What everybody may do with a new object."""


@dataclass(frozen=True, slots=True)
class AclItem:
    """That `grantor` has given `privileges` to `grantee` (ids of roles), who may pass on those in `grantable`.

    Both are the bits of `Privilege`.
    """

    grantee: int
    grantor: int
    privileges: int
    grantable: int = 0


Acl: TypeAlias = tuple[AclItem, ...]


@dataclass(frozen=True, slots=True)
class ServerAcls:
    """The lists of what no database has to itself, by name: parameters and tablespaces.

    A parameter that nobody has been granted has none: its owner is the bootstrap superuser, as PostgreSQL says.
    """

    parameters: Mapping[str, Acl] = field(default_factory=dict)
    tablespaces: Mapping[str, Acl] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadColumns:
    """That a query names a relation, and these columns of it, by their ids."""

    relation_id: int
    column_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DefaultAcl:
    """ALTER DEFAULT PRIVILEGES: what `role` gives with each new object of a kind (an `ObjectKind`'s value).

    In one schema `acl` comes on top of what objects have anyway; without `schema` it takes the place of that.
    """

    role: int
    kind: str
    acl: Acl
    schema: str | None = None


def default_acl(kind: ObjectKind, owner: int) -> Acl:
    """What an object has of which nobody has granted or revoked anything."""
    if kind is ObjectKind.COLUMN:
        return ()
    everybody = OF_PUBLIC.get(kind, NOTHING)
    public = (AclItem(PUBLIC, owner, int(everybody)),) if everybody else ()
    return (*public, AclItem(owner, owner, int(ALL_OF[kind])))


def privileges_in(acl: Acl, roles: Collection[int]) -> Privilege:
    """What somebody may do who has the rights of these roles, and those of everybody."""
    found = 0
    for item in acl:
        if item.grantee == PUBLIC or item.grantee in roles:
            found |= item.privileges
    return Privilege(found)


def grantable_in(acl: Acl, roles: Collection[int], owner: int) -> Privilege:
    """What somebody may pass on who has the rights of these roles. An owner may pass on everything."""
    if owner in roles:
        return Privilege((1 << len(Privilege)) - 1)
    found = 0
    for item in acl:
        if item.grantee in roles:
            found |= item.grantable
    return Privilege(found)


def granted(acl: Acl, item: AclItem, owner: int) -> Acl:
    """The list with what `item` adds. Raises SqlError (0LP01) for a circle of rights to grant."""
    if item.grantable and item.grantee == PUBLIC:
        raise SqlError("grant options can only be granted to roles", sqlstate=INVALID_GRANT)
    if item.grantable and item.grantor != owner:
        without = acl
        while (own := _of(without, lambda each: each.grantee == item.grantee)) is not None:
            without = _without(without, own, own.privileges, own.grantable, owner, cascade=True)
        if item.grantable & ~grantable_in(without, (item.grantor,), owner):
            raise SqlError("grant options cannot be granted back to your own grantor", sqlstate=INVALID_GRANT)
    for place, each in enumerate(acl):
        if (each.grantee, each.grantor) == (item.grantee, item.grantor):
            merged = replace(
                each, privileges=each.privileges | item.privileges, grantable=each.grantable | item.grantable
            )
            return (*acl[:place], merged, *acl[place + 1 :])
    return (*acl, item) if item.privileges or item.grantable else acl


def revoked(acl: Acl, item: AclItem, owner: int, *, cascade: bool) -> Acl:
    """The list without what `item` names: its privileges, and its rights to grant.

    Raises DependentObjectsStillExist (2BP01) if others have theirs from whom it is taken, unless `cascade`.
    """
    found = _of(acl, lambda each: (each.grantee, each.grantor) == (item.grantee, item.grantor))
    if found is None:
        return acl
    return _without(acl, found, item.privileges, item.grantable, owner, cascade=cascade)


def with_new_owner(acl: Acl, old: int, new: int) -> Acl:
    """The list after the object has got another owner, who takes the place of the old one everywhere."""

    def moved(role: int) -> int:
        return new if role == old else role

    merged: dict[tuple[int, int], AclItem] = {}
    for item in acl:
        key = moved(item.grantee), moved(item.grantor)
        before = merged.get(key, AclItem(*key, 0))
        merged[key] = AclItem(*key, before.privileges | item.privileges, before.grantable | item.grantable)
    return tuple(merged.values())


def without_role(acl: Acl, role: int, owner: int) -> Acl:
    """The list after everything is revoked that the role was given or has given to others (DROP OWNED)."""
    while (found := _of(acl, lambda each: each.grantee == role and role != owner)) is not None:
        acl = _without(acl, found, found.privileges, found.grantable, owner, cascade=True)
    return acl


def _of(acl: Acl, wanted: Callable[[AclItem], bool]) -> AclItem | None:
    return next((each for each in acl if wanted(each)), None)


def _without(acl: Acl, item: AclItem, privileges: int, grantable: int, owner: int, *, cascade: bool) -> Acl:
    """The list with less in `item`, and without what its grantee may then no longer have granted."""
    left = replace(item, privileges=item.privileges & ~privileges, grantable=item.grantable & ~grantable)
    place = acl.index(item)
    acl = (*acl[:place], *((left,) if left.privileges or left.grantable else ()), *acl[place + 1 :])
    return _without_granted(acl, item.grantee, item.grantable & ~left.grantable, owner, cascade=cascade)


def _without_granted(acl: Acl, role: int, lost: int, owner: int, *, cascade: bool) -> Acl:
    """The list without what `role` has granted of what it may no longer grant."""
    lost &= ~grantable_in(acl, (role,), owner)
    if not lost:
        return acl
    while (found := _of(acl, lambda each: each.grantor == role and bool(each.privileges & lost))) is not None:
        if not cascade:
            raise DependentObjectsStillExist("dependent privileges exist", hint="Use CASCADE to revoke them too.")
        acl = _without(acl, found, lost, lost, owner, cascade=True)
    return acl
