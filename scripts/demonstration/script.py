"""The script of the demonstration: `python script.py SESSION`.

It appends until the daemon is gone, and prints the id of each entry that was acknowledged.
"""

import sys

from sessiond.client import Disconnected, connect_blocking

with connect_blocking() as daemon:
    try:
        while True:
            entry = {"type": "custom", "customType": "demo", "data": {"from": "a script"}}
            result = daemon.call("session/append", {"sessionId": sys.argv[1], "entries": [entry]})
            print(result["entries"][0]["id"], flush=True)
    except Disconnected:
        print("disconnected", flush=True)
