"""Where oh-my-pi keeps its sessions."""

PLACE = "/home/ada/.omp/agent/sessions/-demo/2026-11-20T10-00-00-000Z_0199.jsonl"
MOVED = [
    ({"PI_CONFIG_DIR": ".config/omp"}, "/home/ada/.config/omp/agent/sessions"),
]
