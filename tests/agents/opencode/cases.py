"""Where OpenCode keeps its sessions."""

PLACE = "/home/ada/.local/share/opencode/opencode.db"
OTHERS = ["opencode.db-wal", "storage/opencode.db"]
MOVED = [
    ({"XDG_DATA_HOME": "/srv/data"}, "/srv/data/opencode"),
]
