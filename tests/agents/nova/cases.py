"""Where NOVA keeps its sessions."""

PLACE = "/home/ada/.nova/sessions/0199abcd.json"
