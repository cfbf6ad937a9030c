"""An ACP agent without a model, run as a program: each line of a prompt tells it what to do.

say TEXT          a chunk of the answer, and `think TEXT` one of its thoughts
next              begin another message
call ID TITLE     a tool call with input that completes; `start ID TITLE` one that stays open
fail ID           complete an open call with a failure
ask ID            request a permission, and say what was chosen
read PATH         request a file of the client, and say its content
plan STEP         a plan with one step
update JSON       any other update
send JSON         any line
wait              do nothing until the prompt is canceled
pause FILE        do nothing until a file exists
flood COUNT SIZE  COUNT chunks of SIZE characters
deaf              stop reading, and start a program that does not read either
die               end at once

python -m support.scripted_acp_agent [--can load,list,resume,fork,close] [--memory FOLDER] [--log FILE] [--no-ids]
                                     [--late-replay]

With --late-replay, it goes on with a replay after the response to session/load, as Gemini CLI does.
"""

import argparse
import json  # noqa: TID251 - as another program writes it
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

Json = dict[str, Any]


class Agent:
    """The agent, with its sessions in a folder of files, so that the next process can load them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.can = [item for item in options.can.split(",") if item]
        self.memory = Path(options.memory) if options.memory else None
        self.log = Path(options.log) if options.log else None
        self.has_ids = not options.no_ids
        self.replays_late = options.late_replay
        self.sessions: dict[str, list[Json]] = {}
        self.count = 0
        self.answers: dict[Any, Json] = {}
        self.canceled = False

    def run(self) -> int:
        while (line := self.read()) is not None:
            self.take(line)
        return 0

    def read(self) -> Json | None:
        line = sys.stdin.buffer.readline()
        if self.log is not None:
            with self.log.open("ab") as log:
                log.write(line)
        return json.loads(line) if line.strip() else None

    def send(self, message: Json) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def take(self, found: Json) -> None:
        method = found.get("method")
        if method is None:
            self.answers[found["id"]] = found
        elif method == "session/cancel":
            self.canceled = True
        elif "id" in found:
            try:
                result = self.respond(method, found.get("params") or {})
            except LookupError as error:
                self.send({"id": found["id"], "error": {"code": -32601, "message": f"no {error}"}})
            else:
                self.send({"id": found["id"], "result": result})

    def respond(self, method: str, params: Json) -> Json:
        match method:
            case "initialize":
                names: Json = {item: {} for item in self.can if item != "load"}
                can = {"loadSession": "load" in self.can, "sessionCapabilities": names}
                return {"protocolVersion": 1, "agentCapabilities": can, "authMethods": [], "extra": 1.50}
            case "session/new":
                return {"sessionId": self.begin([])}
            case "session/prompt":
                return self.prompt(params)
            case "session/load" if "load" in self.can:
                history = list(self.recall(params["sessionId"]))
                if self.replays_late:
                    Thread(target=self.replay, args=(params["sessionId"], history, 0.05)).start()
                else:
                    self.replay(params["sessionId"], history, 0.0)
                return {}
            case "session/resume" if "resume" in self.can:
                self.recall(params["sessionId"])
                return {}
            case "session/fork" if "fork" in self.can:
                return {"sessionId": self.begin(list(self.recall(params["sessionId"])))}
            case "session/list" if "list" in self.can:
                rows = [
                    {"sessionId": session, "cwd": "/", "title": "the agent's own"}
                    for session in self.sessions
                ]
                return {"sessions": rows}
            case "session/close" if "close" in self.can:
                return {}
            case "echo":
                return params
        raise LookupError(method)

    def replay(self, session_id: str, history: list[Json], seconds: float) -> None:
        for update in history:
            time.sleep(seconds)
            self.update(session_id, update)

    def begin(self, history: list[Json]) -> str:
        session_id = f"scripted-{time.time_ns():x}"
        self.sessions[session_id] = history
        self.remember(session_id)
        return session_id

    def recall(self, session_id: str) -> list[Json]:
        if session_id not in self.sessions:
            file = None if self.memory is None else self.memory / session_id
            if file is None or not file.exists():
                raise LookupError(f"session {session_id}")
            self.sessions[session_id] = json.loads(file.read_text(encoding="utf-8"))
        return self.sessions[session_id]

    def remember(self, session_id: str) -> None:
        if self.memory is not None:
            text = json.dumps(self.sessions[session_id])
            (self.memory / session_id).write_text(text, encoding="utf-8")

    def update(self, session_id: str, update: Json) -> None:
        self.send({"method": "session/update", "params": {"sessionId": session_id, "update": update}})

    def prompt(self, params: Json) -> Json:
        session_id = params["sessionId"]
        history = self.recall(session_id)
        self.canceled = False
        for block in params["prompt"]:
            history.append({"sessionUpdate": "user_message_chunk", "content": block})
        self.count += 1
        for line in params["prompt"][-1].get("text", "").splitlines():
            word, _, rest = line.partition(" ")
            step = getattr(self, f"do_{word}", None)
            if step is not None:
                step(session_id, rest)
            if self.canceled:
                return {"stopReason": "cancelled"}
        self.remember(session_id)
        return {"stopReason": "end_turn", "usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}}

    def do_say(self, session_id: str, text: str, kind: str = "agent_message_chunk") -> None:
        found: Json = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
        if self.has_ids:
            found["messageId"] = f"{session_id[-12:]}-{self.count}"
        self.sessions[session_id].append(found)
        self.update(session_id, found)

    def do_think(self, session_id: str, text: str) -> None:
        self.do_say(session_id, text, "agent_thought_chunk")

    def do_next(self, _session_id: str, _rest: str) -> None:
        self.count += 1

    def do_start(self, session_id: str, rest: str) -> None:
        call_id, _, title = rest.partition(" ")
        found = {"toolCallId": call_id, "title": title, "kind": "read", "rawInput": {"of": title}}
        self.update(session_id, {"sessionUpdate": "tool_call", "status": "pending", **found})

    def do_call(self, session_id: str, rest: str) -> None:
        self.do_start(session_id, rest)
        self.complete(session_id, rest.partition(" ")[0], "completed", f"result of {rest.partition(' ')[2]}")

    def do_fail(self, session_id: str, call_id: str) -> None:
        self.complete(session_id, call_id, "failed", "it failed")

    def complete(self, session_id: str, call_id: str, status: str, text: str) -> None:
        shown = [{"type": "content", "content": {"type": "text", "text": text}}]
        found = {"toolCallId": call_id, "status": status, "content": shown}
        self.update(session_id, {"sessionUpdate": "tool_call_update", **found})

    def do_ask(self, session_id: str, call_id: str) -> None:
        call = {"toolCallId": call_id, "title": "write", "rawInput": {"path": "x"}}
        options = [{"optionId": name, "name": name, "kind": f"{name}_once"} for name in ("allow", "reject")]
        params = {"sessionId": session_id, "toolCall": call, "options": options}
        answer = self.request("session/request_permission", params)
        if answer is not None:
            self.do_say(session_id, f"chosen {answer['result']['outcome'].get('optionId')}")

    def do_read(self, session_id: str, path: str) -> None:
        answer = self.request("fs/read_text_file", {"sessionId": session_id, "path": path})
        self.do_say(session_id, "read " + json.dumps((answer or {}).get("result")))

    def request(self, method: str, params: Json) -> Json | None:
        """Send a request, and return its answer; None if the prompt is canceled before."""
        request_id = len(self.answers)
        self.send({"id": request_id, "method": method, "params": params})
        while request_id not in self.answers and not self.canceled:
            line = self.read()
            if line is None:
                sys.exit(0)
            self.take(line)
        return self.answers.get(request_id)

    def do_plan(self, session_id: str, step: str) -> None:
        entries = [{"content": step, "priority": "high", "status": "pending"}]
        self.update(session_id, {"sessionUpdate": "plan", "entries": entries})

    def do_update(self, session_id: str, text: str) -> None:
        self.update(session_id, json.loads(text))

    def do_send(self, _session_id: str, text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def do_wait(self, _session_id: str, _rest: str) -> None:
        while not self.canceled:
            line = self.read()
            if line is None:
                sys.exit(0)
            self.take(line)

    def do_pause(self, _session_id: str, path: str) -> None:
        while not Path(path).exists():
            time.sleep(0.01)

    def do_flood(self, session_id: str, rest: str) -> None:
        count, size = map(int, rest.split())
        for _ in range(count):
            self.do_say(session_id, "x" * size)

    def do_deaf(self, _session_id: str, _rest: str) -> None:
        subprocess.Popen(["sleep", "3600"])
        time.sleep(3600)

    def do_die(self, _session_id: str, _rest: str) -> None:
        sys.exit(3)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--can", default="")
    parser.add_argument("--memory")
    parser.add_argument("--log")
    parser.add_argument("--no-ids", action="store_true")
    parser.add_argument("--late-replay", action="store_true")
    return Agent(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
