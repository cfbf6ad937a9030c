"""The folders of OpenCode."""

from sessiond.agents.agent import Environ
from sessiond.agents.places import moved


def folders(environ: Environ) -> list[str]:
    """Return the folder of its databases."""
    return [moved(environ, "XDG_DATA_HOME", ".local/share") + "/opencode"]


def config_folder(environ: Environ) -> str:
    """Return the folder of its configuration."""
    return moved(environ, "XDG_CONFIG_HOME", ".config") + "/opencode"
