"""Sessions for exports: complete sessions of any shape, made by hypothesis."""

from typing import Any

from hypothesis import strategies as st

from sessiond.session.dialects.exported import ExportedSession
from support.logs import time_of

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.sampled_from(["read", "write", "bash"])
arguments = st.dictionaries(st.sampled_from("abc"), st.integers() | texts, max_size=2)
text_blocks = st.builds(lambda text: {"type": "text", "text": text}, texts)
images = st.just({"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"})
calls = st.builds(
    lambda name, given, number: {"type": "toolCall", "id": f"call-{number}", "name": name, "arguments": given},
    names, arguments, st.integers(0, 3),
)  # fmt: skip
thoughts = st.builds(lambda text: {"type": "thinking", "thinking": text, "thinkingSignature": "s"}, texts)
times = st.integers(1_700_000_000_000, 1_800_000_000_000)


def messages(
    *, of_assistants: st.SearchStrategy[Any], fields: dict[str, Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Messages of three roles; `fields` are those of an assistant message."""
    user = st.fixed_dictionaries(
        {"role": st.just("user"), "content": st.lists(text_blocks | images, min_size=1, max_size=2)}
    )
    assistant = st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": st.lists(of_assistants, max_size=3), **fields}
    )
    result = st.fixed_dictionaries({
        "role": st.just("toolResult"), "toolCallId": st.just("call-9"), "toolName": st.just("unknown"),
        "content": st.lists(text_blocks, min_size=1, max_size=1), "isError": st.booleans(),
    })  # fmt: skip
    return user | assistant | result


@st.composite
def wholes(draw: st.DrawFn, payloads: st.SearchStrategy[dict[str, Any]]) -> ExportedSession:
    """A session in which the parent of an entry is any earlier entry, and the leaf is any entry."""
    entries: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 7))):
        above = draw(st.sampled_from([None, *(entry["id"] for entry in entries)]))
        payload = draw(payloads)
        for name in ("targetId", "firstKeptEntryId", "fromId"):
            if name in payload:
                payload = {**payload, name: draw(st.sampled_from([f"e{n}" for n in range(number)] or ["e0"]))}
        base = {"id": f"e{number}", "parentId": above, "timestamp": time_of(number)}
        entries.append({"type": payload["type"], **base, **payload})
    return ExportedSession(
        session_id="session-1", timestamp=time_of(0), cwd=draw(st.sampled_from(["", "/w"])), title=None, tags=(),
        parent_session=draw(st.none() | st.just("parent-1")), entries=entries,
        leaf=draw(st.sampled_from([entry["id"] for entry in entries])),
    )  # fmt: skip
