"""The server that the tools reach."""

from tests.frontend.session.conftest import database as database
from tests.frontend.session.conftest import server as server
