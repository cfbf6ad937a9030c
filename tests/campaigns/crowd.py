"""A crowd of clients that connect at the same moment: one process each, forked by one that has loaded everything.

`python -P -m campaigns.crowd COUNT` waits for a line on standard input, and prints a line of JSON for each
client: what it was told by the daemon that it found or started, or what went wrong. SESSIOND_HOME says where.
"""

import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import os
import sys
import time
import traceback

from sessiond.client import daemon_socket
from sessiond.client.blocking import connect
from sessiond.client.wire import DisconnectedError

_AGAIN = 20
daemon_socket.CONNECT_SECONDS = 60.0  # what is tried is who is found, not how fast a busy machine is


def ask() -> dict[str, object]:
    """What `server/status` says. A daemon that dies meanwhile is followed by another."""
    began = time.monotonic()
    for attempt in range(_AGAIN):
        try:
            with connect() as daemon:
                told = daemon.call("server/status")
        except DisconnectedError:
            if attempt + 1 == _AGAIN:
                raise
        else:
            return {"pid": told["pid"], "epoch": told["epoch"], "seconds": time.monotonic() - began}
    raise AssertionError("the last attempt raises")


def main(count: int) -> None:
    gate, opening = os.pipe()
    hearing, telling = os.pipe()
    for _ in range(count):
        if os.fork() == 0:
            os.close(opening)
            os.read(gate, 1)  # nothing comes: all go when the last one who could write is gone
            try:
                said = json.dumps(ask())
            except BaseException:  # noqa: BLE001 - whatever it was is the answer
                said = json.dumps({"error": traceback.format_exc(limit=3)})
            os.write(telling, said.encode() + b"\n")
            os._exit(0)
    os.close(telling)
    os.close(gate)
    print("READY", flush=True)
    sys.stdin.readline()
    os.close(opening)
    with open(hearing, "rb") as answers:
        sys.stdout.buffer.write(answers.read())
    for _ in range(count):
        os.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
