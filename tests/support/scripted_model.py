"""Replaces the model of a real agent: a local HTTP server that answers by a script and records the requests.

    with ScriptedModel() as model:
        model.when("What is the weather?").calls("read_file", path="weather.txt").says("It rains.")

A request is answered by the rule whose phrase is in its newest matching user text. The number of answers in the
conversation since then determines the step of the rule, so that retries and side requests have no effect. A
request without a rule, or after the last step, gets `DEFAULT_TEXT`.
"""

import json  # noqa: TID251 - read and written as another program does it
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from support.model_apis import Answer, Api, Part, api_of
from support.patience import BOUND

DEFAULT_TEXT = "All right."


@dataclass(frozen=True)
class Request:
    """A request of an agent for an answer of the model."""

    api: Api
    path: str
    body: dict[str, Any]
    parts: tuple[Part, ...]

    def texts(self, kind: str) -> list[str]:
        """The texts of the parts of one kind, in order."""
        return [part.text for part in self.parts if part.kind == kind]


@dataclass
class _Step:
    answer: Answer = field(default_factory=Answer)
    status: int = 200
    failures_left: int = 0
    gate: threading.Event | None = None


@dataclass
class Rule:
    """The steps with which the model answers a prompt. Each method adds one and returns the rule."""

    phrase: str
    steps: list[_Step] = field(default_factory=list)
    _next: _Step = field(default_factory=_Step)

    def says(self, text: str) -> "Rule":
        """Answer with a text."""
        return self._answer(Answer(text))

    def calls(self, tool: str, **arguments: Any) -> "Rule":
        """Answer with one tool call; the next step follows its result."""
        return self._answer(Answer(calls=((tool, arguments),)))

    def counts(self, prompt_tokens: int) -> "Rule":
        """With the next answer, report a number of tokens for its request."""
        self._next.answer = Answer(prompt_tokens=prompt_tokens)
        return self

    def fails(self, status: int, times: int = 1) -> "Rule":
        """Refuse the next answer a number of times, with this HTTP status, before it is sent."""
        self._next.status, self._next.failures_left = status, times
        return self

    def waits_for(self, gate: threading.Event) -> "Rule":
        """Send the next answer when the event is set."""
        self._next.gate = gate
        return self

    def _answer(self, answer: Answer) -> "Rule":
        self._next.answer = replace(answer, prompt_tokens=self._next.answer.prompt_tokens)
        self.steps.append(self._next)
        self._next = _Step()
        return self


class ScriptedModel:
    """The server; a context manager that listens on a free port of 127.0.0.1."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.unknown_paths: list[str] = []
        """The other addresses to which an agent has sent requests, which got 404 and an empty object."""
        self._rules: list[Rule] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """The address without a slash at its end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def when(self, phrase: str) -> Rule:
        """Add a rule for prompts that contain this phrase. If several rules match, the newest one is used."""
        rule = Rule(phrase)
        self._rules.append(rule)
        return rule

    def request_with(self, phrase: str) -> Request:
        """The request with the longest conversation that has this phrase in a user text; the newest of several.

        Agents also send only the words of a user, for example for a title, before or after the conversation.
        """
        with self._lock:
            found = [
                request for request in self.requests if any(phrase in text for text in request.texts("user"))
            ]
        assert found, f"no request with {phrase!r}"
        return max(reversed(found), key=lambda request: len(request.parts))

    def __enter__(self) -> "ScriptedModel":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(BOUND)

    def take(self, api: Api, path: str, body: dict[str, Any]) -> tuple[int, Answer, str]:
        """Record a request. Returns the status, the answer, and the id of the answer."""
        parts = tuple(api.conversation(body))
        with self._lock:
            self.requests.append(Request(api, path, body, parts))
            id = f"{len(self.requests):04}"
            step = self._step_for(parts)
            if step is None:
                return 200, Answer(DEFAULT_TEXT), id
            if step.failures_left:
                step.failures_left -= 1
                return step.status, step.answer, id
        if step.gate is not None:
            step.gate.wait(BOUND)
        return 200, step.answer, id

    def _step_for(self, parts: Sequence[Part]) -> _Step | None:
        for index in reversed(range(len(parts))):
            if parts[index].kind != "user":
                continue
            for rule in reversed(self._rules):
                if rule.phrase in parts[index].text:
                    number = _answers_in(parts[index:])
                    return rule.steps[number] if number < len(rule.steps) else None
        return None


def _answers_in(parts: Sequence[Part]) -> int:
    """The number of answers of a model among the parts. Consecutive parts of an answer count as one."""
    of_model = [part.kind in ("assistant", "call") for part in parts]
    return sum(now and not before for before, now in zip([False, *of_model], of_model, strict=False))


def _handler_for(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)) or b"{}")
            api = api_of(self.path)
            if api is None:
                self._unknown()
                return
            status, answer, id = model.take(api, self.path, body)
            if status != 200:
                error = {"type": "api_error", "code": status, "message": "The scripted model refuses."}
                self._send(status, "application/json", json.dumps({"type": "error", "error": error}))
                return
            events = list(api.events(answer, id, body.get("model") or self.path.split("/")[-1].split(":")[0]))
            if body.get("stream") or "stream" in self.path:
                self._send(200, "text/event-stream", "".join(map(self._event(api), events)))
            else:
                whole: Any = events[-1] if api.name == "responses" else events[0]
                self._send(200, "application/json", json.dumps(whole.get("response", whole)))

        def do_GET(self) -> None:
            self._unknown()

        do_HEAD = do_GET

        def _unknown(self) -> None:
            model.unknown_paths.append(self.path)
            self._send(404, "application/json", "{}")

        @staticmethod
        def _event(api: Api) -> Callable[[dict[str, Any] | str], str]:
            def line(event: dict[str, Any] | str) -> str:
                if isinstance(event, str):
                    return f"data: {event}\n\n"
                name = f"event: {event['type']}\n" if api.names_events else ""
                return f"{name}data: {json.dumps(event)}\n\n"

            return line

        def _send(self, status: int, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, format: str, *values: object) -> None:
            pass

    return Handler
