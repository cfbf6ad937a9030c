"""NOVA: its places and format are known from its documents only. It was not run.

It keeps the sessions of a project in the project's folder `.nova/sessions`, one state in each file.
"""

from typing import TYPE_CHECKING

from sessiond.agents.agent import Agent
from sessiond.agents.places import home

if TYPE_CHECKING:
    from sessiond.agents.formats import Dialect


def _dialect() -> "Dialect":
    from sessiond.agents.nova.reader import DIALECT

    return DIALECT


NOVA = Agent(
    name="nova",
    title="NOVA",
    short_name="nova",
    program="nova",
    dialect="nova",
    places="`~/.nova/sessions/<id>.json`",
    reads="NOVA's working state.",
    writes="NOVA's working state at one point.",
    load_dialect=_dialect,
    checked_version=None,
    variables=(),
    folders=lambda environ: [home(environ) + "/.nova/sessions"],
    is_session_file=lambda path: "/" not in path and path.endswith(".json"),
    resume_command=lambda native_id: [],
)
