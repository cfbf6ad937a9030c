"""A client: append each line of the input to a new session, and print what clients append to it."""

import json  # noqa: TID251 - a client without a library
import select
import socket
import subprocess
import sys
import uuid
from typing import Any


class Client:
    def __init__(self) -> None:
        self.session, self.number = str(uuid.uuid4()), 0
        self.after: Any = None  # the last line that was printed
        self.connect()

    def connect(self) -> None:  # starts the daemon if none runs
        subprocess.run(["sessiond", "serve", "--detach"], check=True, stdout=subprocess.DEVNULL)
        self.socket, self.received = socket.socket(socket.AF_UNIX), b""
        self.socket.connect(subprocess.check_output(["sessiond", "status", "--socket"], text=True).strip())
        # Requests with the same `commandId` take effect once: a second connection makes no second session.
        self.call("session/create", cwd=sys.argv[1], id=self.session, commandId=f"create {self.session}")
        self.call("session/subscribe", sessionId=self.session, after=self.after)

    def call(self, method: str, **params: object) -> Any:
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        while not (answers := [found for found in self.receive() if found.get("id") == self.number]):
            pass  # notifications may arrive before the response
        return answers[0]["result"] if "result" in answers[0] else sys.exit(answers[0]["error"]["message"])

    def receive(self) -> list[dict[str, Any]]:  # prints what clients append to the session
        if not (data := self.socket.recv(65536)):
            raise ConnectionError
        *lines, self.received = (self.received + data).split(b"\n")
        messages = list(map(json.loads, lines))
        for params in (found["params"] for found in messages if found.get("method") == "session/appended"):
            self.after = {"logId": params["logId"], "seq": params["toSeq"]}
            print("appended:", *(item["entry"]["id"] for item in params["items"]), flush=True)
        return messages


client, entry, stdin = Client(), None, open(0, "rb", buffering=0)  # noqa: SIM115 - `select` sees no buffer
print("session:", client.session, flush=True)
while True:
    try:
        if entry is None and client.socket.fileno() in select.select([client.socket.fileno(), 0], [], [])[0]:
            client.receive()
            continue
        if entry is None and not (line := stdin.readline()):
            break
        message = {"role": "user", "content": line.decode().removesuffix("\n")}
        entry = entry or {"type": "message", "id": uuid.uuid4().hex, "message": message}
        client.call("session/append", sessionId=client.session, entries=[entry])
        context, entry = client.call("session/context", sessionId=client.session), None
        print("messages:", context["messageCount"], flush=True)
    except ConnectionError:  # the daemon has ended; an entry with an id may be sent again
        client.connect()
