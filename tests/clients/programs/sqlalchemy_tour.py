"""SQLAlchemy: tables, ORM, reflection; Alembic: a comparison that finds no difference. Argument: the server's URL."""

import sys

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Integer,
    MetaData,
    String,
    Text,
    create_engine,
    inspect,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Session, mapped_column, relationship


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "sa_user"
    id = mapped_column(Integer, Identity(), primary_key=True)
    name = mapped_column(Text, unique=True, nullable=False)
    n = mapped_column(Integer, CheckConstraint("n > 0", name="positive"))
    note = mapped_column(String(20), server_default="x", comment="a note")
    document = mapped_column(JSON)
    binary_document = mapped_column(JSONB)
    tags = mapped_column(ARRAY(Text))


class Address(Base):
    __tablename__ = "sa_address"
    id = mapped_column(Integer, primary_key=True)
    user_id = mapped_column(ForeignKey("sa_user.id", ondelete="CASCADE"), index=True)
    user = relationship(User)


engine = create_engine(sys.argv[1])
Base.metadata.drop_all(engine)
Base.metadata.create_all(engine)

with Session(engine) as session:
    user = User(name="a", n=1, document={"a": [1]}, binary_document={"b": None}, tags=["x", "y"])
    session.add(user)
    session.flush()
    session.add_all([Address(user=user) for _ in range(5)])
    session.commit()
    assert len(session.scalars(select(Address).join(User).where(User.name == "a")).all()) == 5
    assert (user.note, user.document, user.binary_document, user.tags) == ("x", {"a": [1]}, {"b": None}, ["x", "y"])
    assert len(session.scalars(select(User).with_for_update()).all()) == 1
    assert len(session.scalars(select(User).with_for_update(skip_locked=True)).all()) == 1
    session.execute(update(User).values(n=User.n + 1))
    session.commit()
    assert session.get(User, user.id).n == 2
    counted = select(User.n.label("i")).cte("counted", recursive=True)
    counted = counted.union_all(select(counted.c.i + 1).where(counted.c.i < 5))
    assert session.scalars(select(counted.c.i).order_by(counted.c.i)).all() == [2, 3, 4, 5]
    session.execute(insert(User).values(name="a", n=3).on_conflict_do_update(index_elements=["name"], set_={"n": 9}))
    session.commit()
    session.add(User(name="a", n=1))
    try:
        session.commit()
        raise AssertionError("two users of one name")
    except IntegrityError:
        session.rollback()

looked = inspect(engine)
assert looked.get_pk_constraint("sa_user")["constrained_columns"] == ["id"]
assert looked.get_foreign_keys("sa_address")[0]["options"] == {"ondelete": "CASCADE"}
assert [each["name"] for each in looked.get_check_constraints("sa_user")] == ["positive"]
assert [each["column_names"] for each in looked.get_unique_constraints("sa_user")] == [["name"]]
assert [each["column_names"] for each in looked.get_indexes("sa_address")] == [["user_id"]]
columns = {each["name"]: each for each in looked.get_columns("sa_user")}
assert columns["id"]["identity"]["start"] == 1
assert columns["note"]["comment"] == "a note"
reflected = MetaData()
reflected.reflect(engine, views=True)
assert {"sa_user", "sa_address"} <= set(reflected.tables)


def differences(metadata):
    def mine(thing, name, kind, is_reflected, other):
        return kind != "table" or name in metadata.tables

    options = {"compare_type": True, "compare_server_default": True, "include_object": mine}
    with engine.connect() as connection:
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)


assert differences(Base.metadata) == []
with engine.begin() as connection:
    operations = Operations(MigrationContext.configure(connection))
    operations.add_column("sa_address", Column("street", Text, server_default="?"))
    operations.create_unique_constraint("one_street", "sa_address", ["user_id", "id"])
assert [each[0] for each in differences(Base.metadata)] == ["remove_constraint", "remove_column"], differences(
    Base.metadata
)
with engine.begin() as connection:
    operations = Operations(MigrationContext.configure(connection))
    operations.drop_constraint("one_street", "sa_address")
    operations.drop_column("sa_address", "street")
assert differences(Base.metadata) == []
Base.metadata.drop_all(engine)
