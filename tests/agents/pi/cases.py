"""Where pi keeps its sessions, and what people and models wrote in a line of one."""

from support.agent_cases import texts_of_entries

PLACE = "/home/ada/.pi/agent/sessions/--srv-demo--/2026-11-20T10-00-00-000Z_0199.jsonl"
MOVED = [
    ({"PI_CODING_AGENT_DIR": "/srv/pi"}, "/srv/pi/sessions"),
    ({"PI_CODING_AGENT_DIR": "/srv/pi", "PI_CODING_AGENT_SESSION_DIR": "/srv/s"}, "/srv/s"),
]
written = texts_of_entries
