"""Sessions for tests of the page, and attacks that a transcript might contain."""

from typing import Any

from sessiond.session.dialects.exported import ExportedSession

HOSTILE = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "[press](javascript:document.title='owned') and <javascript:document.title='owned'>",
    "<svg onload=\"document.title='owned'\"><animate onbegin=\"document.title='owned'\"></svg>",
    "</script><script>document.title='owned'</script><!--",
    "![p](http://127.0.0.1:9/p.png) <style>@import 'http://127.0.0.1:9/s.css';</style>",
    "\x1b]0;owned\x07\x1b[31mred\x1b[0m \u202egnp.exe\u2066 x",
    "| a |\n|:-:|\n| <iframe srcdoc='<script>parent.document.title=1</script>'> |",
    "[x]: javascript:alert(1) \"t\"\n\n[x] <a href='data:text/html,x'>y</a>",
    "```\"><script>document.title='owned'</script>\ncode\n```",
)


class Story:
    """The entries of a session, added one after the other."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.leaf: str | None = None

    def add(self, type_: str, **payload: Any) -> str:
        number = len(self.entries) + 1
        name = f"e{number}"
        at = f"2026-11-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
        parent = payload.pop("parentId", self.leaf)
        self.entries.append({"type": type_, "id": name, "parentId": parent, "timestamp": at, **payload})
        self.leaf = name
        return name

    def user(self, text: str, **more: Any) -> str:
        return self.add("message", message={"role": "user", "content": text}, **more)

    def assistant(self, *content: str | dict[str, Any], **more: Any) -> str:
        blocks = [{"type": "text", "text": text} if isinstance(text, str) else text for text in content]
        message = {
            "role": "assistant", "provider": "anthropic", "model": "opus", "content": blocks, "stopReason": "stop",
            "usage": {"input": 1200, "output": 80, "totalTokens": 1280, "cost": {"total": 0.01}},
        }  # fmt: skip
        return self.add("message", message=message, **more)

    def result(self, text: str, *, error: bool = False, call_id: str = "c") -> str:
        content = [{"type": "text", "text": text}]
        return self.add(
            "message",
            message={
                "role": "toolResult",
                "toolCallId": call_id,
                "toolName": "bash",
                "isError": error,
                "content": content,
            },
        )

    def whole(self, title: str | None = "Flaky checkout") -> ExportedSession:
        return ExportedSession(
            session_id="11111111-1111-4111-8111-111111111111", timestamp="2026-11-01T00:00:00.000Z", cwd="/shop",
            title=title, tags=("ci",), parent_session=None, entries=self.entries, leaf=self.leaf,
        )  # fmt: skip


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "toolCall", "id": "c", "name": name, "arguments": arguments}


def sample_story() -> Story:
    """A question, an answer with thinking, a call and its result, a second answer beside the first, a label."""
    story = Story()
    question = story.user("Why does **checkout** fail?")
    story.assistant({"type": "thinking", "thinking": "Hmm."}, "I look.", call("bash", command="pytest -x"))
    story.result("1 failed", error=True)
    first = story.assistant("It was a *race*.\n\n```python\nlock = 1\n```")
    story.add("label", targetId=first, label="found it")
    story.user("Are you sure?", parentId=question)
    story.assistant("The second answer.")
    return story


def long_story(entries: int) -> Story:
    """A chain of questions and answers, with occasional forks."""
    story = Story()
    while len(story.entries) < entries:
        number = len(story.entries)
        start = {"parentId": f"e{number - 8}"} if number % 500 == 0 and number else {}
        story.user(f"Question {number}, about `part {number % 7}`.", **start)
        story.assistant(
            "Some words.\n\n" * (number % 5 + 1) + f"Answer {number}.", call("bash", command=f"make {number}")
        )
        story.result("ok\n" * (number % 30))
    return story
