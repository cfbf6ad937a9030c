"""Finds a model that the user's OpenCode has: OpenCode resumes a session with the model of its last message.

The database is opened read-only. All functions block.
"""

import json  # noqa: TID251 - the room has no msgspec
import os
import sqlite3

from sessiond.agents.agent import Environ
from sessiond.agents.opencode import OPENCODE
from sessiond.agents.places import home, named

_LAST_MESSAGES = 50


def opencode_model(environ: Environ) -> str | None:
    """Return a model as `provider/model`: the last one used, else the configured one, else the first of a provider."""
    return _last_used(environ) or _configured(environ)


def _last_used(environ: Environ) -> str | None:
    for folder in OPENCODE.folders(environ):
        path = f"{folder}/opencode.db"
        try:
            connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1)
            try:
                rows = connection.execute(
                    "SELECT data FROM message ORDER BY id DESC LIMIT ?", [_LAST_MESSAGES]
                ).fetchall()
            finally:
                connection.close()
        except sqlite3.Error:
            continue
        for (data,) in rows:
            if (model := _model_of(data)) is not None:
                return model
    return None


def _model_of(data: str) -> str | None:
    try:
        message = json.loads(data)
        model = message.get("model") or message
        return f"{model['providerID']}/{model['modelID']}" if message["role"] == "user" else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _configured(environ: Environ) -> str | None:
    folder = (named(environ, "XDG_CONFIG_HOME") or home(environ) + "/.config") + "/opencode"
    for name in ("opencode.json", "opencode.jsonc", "config.json"):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                config = json.load(file)
            if isinstance(config.get("model"), str):
                return str(config["model"])
            for provider, about in config.get("provider", {}).items():
                if models := about.get("models"):
                    return f"{provider}/{next(iter(models))}"
        except (OSError, ValueError, AttributeError):
            continue
    return None
