"""Where OpenCode keeps its sessions."""

PLACE = "/home/ada/.local/share/opencode/opencode.db"
WRITES_VERSION = True
NEEDS_VERSION = True
OTHERS = ["opencode.db-wal", "storage/opencode.db"]
MOVED = [
    ({"XDG_DATA_HOME": "/srv/data"}, "/srv/data/opencode"),
]
