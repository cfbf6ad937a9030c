"""Large values go out of a draft into blobs, and come back as they were."""

import base64
import hashlib
import json  # noqa: TID251 - other programs write with it, and it reads numbers as they are
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sessiond.session.content import blobs, extract_blobs, restore_blobs
from support.images import image_block, png

NOTICE = "\n\n[Session persistence truncated large content]"


def draft(**fields: Any) -> bytes:
    return json.dumps({"type": "message", **fields}, separators=(",", ":"), ensure_ascii=False).encode()


def says(*content: Any, role: str = "user", **more: Any) -> bytes:
    return draft(message={"role": role, "content": list(content), **more})


def back(taken: extract_blobs.ExtractedBlobs) -> Any:
    return json.loads(restore_blobs.restore(taken.draft, taken.blobs.get))


def units(text: str) -> int:
    """The length of a text as JavaScript counts it."""
    return len(text.encode("utf-16-le")) // 2


# --- images ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "taken"), [(765, False), (768, True)], ids=["1020 chars", "1024 chars"])
def test_an_image_of_1024_characters_of_base64_becomes_a_reference(size: int, taken: bool) -> None:
    data = bytes(range(256)) * 3
    sent = says(image_block(data[:size]))

    out = extract_blobs.extract(sent)

    digest = hashlib.sha256(data[:size]).hexdigest()
    assert out.blobs == ({digest: data[:size]} if taken else {})
    if taken:
        assert json.loads(out.draft)["message"]["content"][0]["data"] == f"blob:sha256:{digest}"
    else:
        assert out.draft == sent
    assert back(out) == json.loads(sent)


IMAGE = image_block(png(40, 40))
PLACES = {
    "a block of a message": says({"type": "text", "text": "look"}, IMAGE),
    "a tool result": says(IMAGE, role="toolResult", toolCallId="c1", toolName="shot", isError=False),
    "a custom message": draft(type="custom_message", customType="shot", content=[IMAGE], display=True),
    "a list of images": says(role="assistant", details={"images": [{"data": IMAGE["data"], "mimeType": "image/png"}]}),
    "frames": draft(preserveData={"snapcompact": {"frames": [{"data": IMAGE["data"], "mimeType": "image/png"}]}}),
    "a generated image": draft(
        message={"role": "assistant", "content": [], "providerPayload": {
            "items": [{"type": "image_generation_call", "id": "ig_1", "result": IMAGE["data"]}]}}
    ),
    "a context edit": draft(type="context_edit", targetId="a", replacement={"content": [IMAGE]}),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_an_image_is_found_wherever_oh_my_pi_has_them(place: str) -> None:
    out = extract_blobs.extract(PLACES[place])

    assert extract_blobs.may_need_extraction(PLACES[place])
    assert list(out.blobs.values()) == [png(40, 40)]
    assert IMAGE["data"].encode() not in out.draft
    assert back(out) == json.loads(PLACES[place])


def test_an_image_that_is_a_data_url_comes_back_to_the_letter() -> None:
    url = f"data:image/png;base64,{IMAGE['data']}"
    sent = says({"type": "input_image", "image_url": url})

    out = extract_blobs.extract(sent)

    assert out.blobs == {hashlib.sha256(url.encode()).hexdigest(): url.encode()}
    assert back(out) == json.loads(sent)


def test_a_very_long_address_of_an_image_comes_back_like_any_text() -> None:
    sent = says({"type": "input_image", "image_url": "https://example.com/?" + "a" * extract_blobs.MAX_CHARS})
    out = extract_blobs.extract(sent)
    assert len(out.blobs) == 1
    assert back(out) == json.loads(sent)


@pytest.mark.parametrize(
    "data",
    ["!" * 2000, "QUJD" * 300 + "QQ", "QUJD" * 300 + "\n", "QUJD" * 300 + "QR==", "é" * 2000],
    ids=["not base64", "without padding", "a line break", "bits that do not come back", "not ASCII"],
)
def test_a_string_that_would_not_come_back_to_the_letter_stays(data: str) -> None:
    sent = says({"type": "image", "mimeType": "image/png", "data": data})
    assert extract_blobs.extract(sent) == (sent, {})


def test_the_same_image_twice_is_one_blob() -> None:
    out = extract_blobs.extract(says(IMAGE, IMAGE))
    assert len(out.blobs) == 1
    assert len(blobs.referenced_hashes(out.draft)) == 2


def test_a_reference_stays_a_reference() -> None:
    sent = says({"type": "image", "mimeType": "image/png", "data": f"blob:sha256:{'a' * 64}"}, "x" * 2000)
    assert extract_blobs.extract(sent) == (sent, {})


# --- long texts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [499_999, 500_000])
def test_a_text_of_half_a_million_characters_stays(count: int) -> None:
    sent = says({"type": "text", "text": "x" * count})
    assert extract_blobs.extract(sent) == (sent, {})


@pytest.mark.parametrize("letter", ["x", "é", "—", "🦀", "x🦀"], ids=["1 byte", "2", "3", "4", "mixed"])
@pytest.mark.parametrize("excess", [1, 2, 1000])
def test_a_longer_text_is_cut_and_kept_whole(letter: str, excess: int) -> None:
    text = (letter * 501_000)[: 500_000 + excess]
    sent = says({"type": "text", "text": text})

    out = extract_blobs.extract(sent)

    entry = json.loads(out.draft)
    cut = entry["message"]["content"][0]["text"]
    assert 499_998 < units(cut) <= 500_000
    assert cut.endswith(NOTICE)
    assert text.startswith(cut.removesuffix(NOTICE))
    assert list(out.blobs.values()) == [text.encode()]
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert entry["sessiondBlobs"] == {"/message/content/0/text": f"blob:sha256:{digest}"}
    assert back(out) == json.loads(sent)


def test_the_length_is_counted_in_utf_16_as_the_peers_count() -> None:
    assert extract_blobs.extract(says({"type": "text", "text": "🦀" * 250_000})).blobs == {}
    assert extract_blobs.extract(says({"type": "text", "text": "🦀" * 250_000 + "x"})).blobs != {}


def test_a_text_that_oh_my_pi_finds_short_enough_is_not_cut_again() -> None:
    once = extract_blobs.extract(says({"type": "text", "text": "x" * 700_000}))
    assert extract_blobs.extract(once.draft) == (once.draft, {})


def test_a_key_that_a_pointer_must_escape_comes_back() -> None:
    sent = draft(type="custom", customType="x", data={"a/b~c": ["x" * 600_000, "y"]})
    out = extract_blobs.extract(sent)
    assert list(json.loads(out.draft)["sessiondBlobs"]) == ["/data/a~1b~0c/0"]
    assert back(out) == json.loads(sent)


def test_the_lines_of_a_cut_content_are_counted_anew_and_back() -> None:
    files = [{"path": "a.log", "content": "line\n" * 150_000, "lineCount": 150_001}]
    sent = draft(message={"role": "fileMention", "files": files})

    out = extract_blobs.extract(sent)

    (cut,) = json.loads(out.draft)["message"]["files"]
    assert cut["lineCount"] == cut["content"].count("\n") + 1 < 150_001
    assert back(out) == json.loads(sent)


SEALED = {
    "thinking": {"type": "thinking", "thinking": "x" * 600_000, "thinkingSignature": "c2ln"},
    "text": {"type": "text", "text": "x" * 600_000, "textSignature": "c2ln"},
    "toolCall": {
        "type": "toolCall",
        "id": "c",
        "arguments": {"x": "x" * 600_000},
        "thoughtSignature": "c2ln",
    },
    "redacted": {"type": "redactedThinking", "data": "x" * 600_000},
    "reasoning": {"type": "reasoning", "encrypted_content": "x" * 600_000},
    "server tool": {"type": "anthropicServerTool", "block": {"type": "web_search", "content": "x" * 600_000}},
    "compaction": {"type": "anthropicCompaction", "content": "x" * 600_000},
    "a signature alone": {"type": "other", "thinkingSignature": "x" * 600_000},
}


@pytest.mark.parametrize("block", SEALED)
def test_content_that_a_provider_has_signed_is_never_cut(block: str) -> None:
    sent = says(SEALED[block], role="assistant")
    assert extract_blobs.extract(sent) == (sent, {})


def test_an_empty_signature_seals_nothing() -> None:
    sent = says({"type": "thinking", "thinking": "x" * 600_000, "thinkingSignature": ""}, role="assistant")
    assert len(extract_blobs.extract(sent).blobs) == 1


# --- the rest ----------------------------------------------------------------------------------------------


def test_transient_fields_are_dropped_and_nothing_else() -> None:
    call = {"type": "toolCall", "id": "c", "name": "ls", "arguments": {}, "partialJson": '{"pa'}
    sent = says(call, role="assistant", details={"jsonlEvents": [{"type": "x"}], "exit": 0})

    out = extract_blobs.extract(sent)

    del call["partialJson"]
    assert extract_blobs.may_need_extraction(sent)
    assert json.loads(out.draft) == json.loads(says(call, role="assistant", details={"exit": 0}))


def test_numbers_and_spaces_beside_a_change_stay_as_they_are_written() -> None:
    data = IMAGE["data"]
    sent = (
        b'{"type":"custom_message","customType":"x","details":{ "cost": 1.10, "n": 123456789012345678901234567890 },'
        b'"content":[{"type":"image","mimeType":"image/png","data":"%b"}]}' % data.encode()
    )
    out = extract_blobs.extract(sent)
    assert b'{ "cost": 1.10, "n": 123456789012345678901234567890 }' in out.draft


@pytest.mark.parametrize("sent", [b"", b"[]", b"nothing", b'{"a":', b'"x"' * 400_000, b"[" * 600_000])
def test_a_body_that_is_no_object_is_returned_as_it_is(sent: bytes) -> None:
    assert extract_blobs.extract(sent) == (sent, {})
    assert restore_blobs.restore(sent, lambda _: b"") == sent


def test_a_value_that_is_nested_too_deeply_stays() -> None:
    sent = b'{"data":' + b"[" * 500 + b'"%b"' % (b"x" * 600_000) + b"]" * 500 + b"}"
    assert extract_blobs.extract(sent) == (sent, {})


def test_references_that_a_client_brings_are_kept_beside_new_ones() -> None:
    known = {"/message/other": f"blob:sha256:{'a' * 64}"}
    sent = draft(sessiondBlobs=known, message={"role": "user", "content": "x" * 600_000})
    assert json.loads(extract_blobs.extract(sent).draft)["sessiondBlobs"].keys() == {
        "/message/other",
        "/message/content",
    }


def test_a_small_draft_is_not_looked_through() -> None:
    assert not extract_blobs.may_need_extraction(says({"type": "text", "text": "hello"}))
    assert not extract_blobs.may_need_extraction(says({"type": "text", "text": "x" * 100_000}))


def test_a_blob_that_is_missing_leaves_its_reference() -> None:
    out = extract_blobs.extract(says(IMAGE, {"type": "text", "text": "x" * 600_000}))
    assert restore_blobs.restore(out.draft, lambda _: None) == out.draft
    assert sorted(restore_blobs.needed_blobs(out.draft)) == sorted(out.blobs)
    one = {name: data for name, data in out.blobs.items() if data.startswith(b"x")}
    half = json.loads(restore_blobs.restore(out.draft, one.get))
    assert len(half["message"]["content"][1]["text"]) == 600_000
    assert half["message"]["content"][0]["data"].startswith("blob:sha256:")


def test_a_reference_is_put_back_only_where_something_was_taken_out() -> None:
    digest = blobs.hash_of(b"secret")
    sent = draft(
        message={"role": "user", "content": f"blob:sha256:{digest}"}, note={"data": f"blob:sha256:{digest}"},
        sessiondBlobs={"/message/role": f"blob:sha256:{digest}", "/nowhere/0": f"blob:sha256:{digest}"},
    )  # fmt: skip
    assert restore_blobs.restore(sent, lambda _: b"secret") == sent
    assert restore_blobs.needed_blobs(sent) == []


def test_an_entry_with_half_a_surrogate_pair_is_put_together_too() -> None:
    digest = blobs.hash_of(png(40, 40))
    line = (
        b'{"type":"message","message":{"role":"user","content":[{"type":"text","text":"\\ud83d"},'
        b'{"type":"image","mimeType":"image/png","data":"blob:sha256:%b"}]}}' % digest.encode()
    )
    put = json.loads(restore_blobs.restore(line, {digest: png(40, 40)}.get))
    assert put["message"]["content"] == [{"type": "text", "text": "\ufffd"}, IMAGE]


def test_a_message_is_put_together_like_its_entry() -> None:
    sent = says(IMAGE, {"type": "text", "text": "x" * 600_000})
    out = extract_blobs.extract(sent)
    cuts = restore_blobs.truncations_of(out.draft, below="/message")
    message = json.dumps(json.loads(out.draft)["message"]).encode()
    put = restore_blobs.restore_message(message, cuts, out.blobs.get)
    assert json.loads(put) == json.loads(sent)["message"]


@dataclass(frozen=True)
class Repeated:
    """A long text, told shortly."""

    letter: str
    count: int


@dataclass(frozen=True)
class Image:
    """An image of so many bytes, told shortly."""

    size: int


def written(value: Any) -> Any:
    """A value in which what was told shortly stands in full."""
    match value:
        case Repeated(letter, count):
            return letter * count
        case Image(size):
            return image_block(bytes(size))
        case list():
            return [written(item) for item in value]
        case dict():
            return {name: written(item) for name, item in value.items()}
    return value


edges = st.sampled_from([1023, 1024, 249_999, 250_000, 250_001, 499_999, 500_000, 500_001, 500_050])
letters = st.sampled_from(["a", "\n", "é", "🦀", '"', "\\", "\x01", "/"])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
leaves = (
    st.text(max_size=20)
    | st.builds(Repeated, letters, edges)
    | st.builds(Image, st.sampled_from([0, 1, 767, 768, 769, 5000]))
    | scalars
)
keys = st.sampled_from(["content", "images", "text", "data", "type", "a/b", "~", "image_url", "details"])
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=6
)


@settings(max_examples=60)
@given(fields=st.dictionaries(keys, values, max_size=3))
def test_values_that_are_taken_out_come_back_the_same(fields: dict[str, Any]) -> None:
    sent = json.dumps({"type": "custom", "payload": written(fields)}).encode()
    out = extract_blobs.extract(sent)
    is_the_same = back(out) == json.loads(sent)
    assert is_the_same
    is_stable = extract_blobs.extract(out.draft) == (out.draft, {})
    assert is_stable
    assert bool(out.blobs) <= extract_blobs.may_need_extraction(sent)
    assert set(restore_blobs.needed_blobs(out.draft)) == set(out.blobs)


@given(data=st.binary(max_size=400))
def test_references_are_found_in_any_bytes(data: bytes) -> None:
    reference = b"blob:sha256:" + b"0" * 64
    assert blobs.referenced_hashes(data + reference + b'"') == ["0" * 64]


def test_base64_is_that_of_the_standard() -> None:
    assert image_block(b"\xff\xfe")["data"] == base64.b64encode(b"\xff\xfe").decode()
