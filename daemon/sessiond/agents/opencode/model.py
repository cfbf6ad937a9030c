"""Finds a model that the user's OpenCode has: OpenCode resumes a session with the model of its last message.

The database is opened read-only. All functions block.
"""

import os

import msgspec

from sessiond.agents import json_comments, regular_files
from sessiond.agents.agent import Environ
from sessiond.agents.opencode import database as opencode_database
from sessiond.agents.opencode.places import config_folder, folders
from sessiond.agents.session_database import UnreadableDatabase

_LAST_MESSAGES = 50


def opencode_model(environ: Environ) -> str | None:
    """Return a model as `provider/model`: the last one used, else the configured one, else the first of a provider."""
    return _last_used(environ) or _configured(environ)


def _last_used(environ: Environ) -> str | None:
    for folder in folders(environ):
        path = f"{folder}/opencode.db"
        try:
            with opencode_database.reading(path) as connection:
                rows = connection.execute(
                    "SELECT data FROM message ORDER BY time_created DESC, rowid DESC LIMIT ?",
                    [_LAST_MESSAGES],
                ).fetchall()
        except UnreadableDatabase:
            continue
        for (data,) in rows:
            if (model := _model_of(data)) is not None:
                return model
    return None


def _model_of(data: str) -> str | None:
    try:
        message = msgspec.json.decode(data)
        model = message.get("model") or message
        return f"{model['providerID']}/{model['modelID']}" if message["role"] == "user" else None
    except (msgspec.DecodeError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _configured(environ: Environ) -> str | None:
    folder = config_folder(environ)
    for name in ("opencode.jsonc", "opencode.json", "config.json"):  # a later one of OpenCode's is first here
        try:
            config = json_comments.decoded(regular_files.content(os.path.join(folder, name)))
            if isinstance(config.get("model"), str):
                return str(config["model"])
            for provider, about in config.get("provider", {}).items():
                if models := about.get("models"):
                    return f"{provider}/{next(iter(models))}"
        except (OSError, ValueError, AttributeError):
            continue
    return None
