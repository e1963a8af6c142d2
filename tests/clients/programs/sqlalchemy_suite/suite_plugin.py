"""SQLAlchemy's plugin of pytest, which here asks for no extension: the suite uses neither citext nor hstore."""

from sqlalchemy.dialects.postgresql import provision  # noqa: F401 - it registers what is replaced here
from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: F403
from sqlalchemy.testing.provision import post_configure_engine


@post_configure_engine.for_db("postgresql")
def without_extensions(url, engine, follower_ident):
    """Stock: CREATE EXTENSION citext and hstore."""
