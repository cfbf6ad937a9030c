"""The entries that are appended, and requests that append them."""

import msgspec
from scripts.benchmarks.load import Requests
from scripts.benchmarks.processes import Daemon
from scripts.benchmarks.session_files import assistant_message, user_message

ASSISTANT = msgspec.json.encode({"type": "message", "message": assistant_message("x" * 250)})
"""A short answer of a model, 0.6 kB as a line. It has no text that is recorded as a prompt."""
USER = msgspec.json.encode({"type": "message", "message": user_message("x" * 1_150)})
"""A prompt, 1.3 kB as a request. It is also recorded in the history of prompts."""
CUSTOM = msgspec.json.encode({"type": "custom", "customType": "example", "data": {"text": "x" * 250}})


def new_session(daemon: Daemon) -> str:
    """Create a session that has an assistant message, and so a file in the sessions folder. Returns its id."""
    with daemon.connect() as client:
        session: str = client.call("session/create", {"cwd": "/tmp"})["session"]["sessionId"]
        first = {"type": "message", "message": assistant_message("ready")}
        client.call("session/append", {"sessionId": session, "entries": [first]})
    return session


def appends(session: str, durability: str, count: int, *, draft: bytes = USER, entries: int = 1) -> Requests:
    """Return `count` requests that append `entries` copies of a draft each."""
    drafts = [msgspec.Raw(draft)] * entries
    params = {"sessionId": session, "durability": durability, "entries": drafts}
    return Requests(
        [
            msgspec.json.encode(
                {"jsonrpc": "2.0", "id": number, "method": "session/append", "params": params}
            )
            for number in range(1, count + 1)
        ]
    )
