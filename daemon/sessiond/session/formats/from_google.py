"""Reads a content of Google's Gemini API, in camelCase or snake_case, or a complete response."""

from collections import Counter
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.session.formats import build
from sessiond.session.formats.build import Json, ResponseDetails, TokenUsage, UnreadableMessage
from sessiond.session.formats.conversation import GENERATED_ID_PREFIX

_FINISH_REASONS: Final = {"STOP": "stop", "MAX_TOKENS": "length", "FINISH_REASON_UNSPECIFIED": "stop"}

# The structs have both spellings of every name: REST uses camelCase, the Python SDK and protocol buffers snake_case.


class _Blob(msgspec.Struct):
    data: str
    mimeType: str | None = None
    mime_type: str | None = None


class _FileData(msgspec.Struct):
    fileUri: str | None = None
    file_uri: str | None = None
    mimeType: str | None = None
    mime_type: str | None = None


class _Call(msgspec.Struct):
    name: str
    id: str | None = None
    args: Raw | UnsetType = UNSET


class _Media(msgspec.Struct):
    inlineData: _Blob | None = None
    inline_data: _Blob | None = None
    fileData: _FileData | None = None
    file_data: _FileData | None = None


class _Response(msgspec.Struct):
    name: str
    response: dict[str, Raw]
    id: str | None = None
    parts: list[_Media] | None = None


class _Part(_Media):
    text: str | None = None
    thought: bool | None = None
    thoughtSignature: str | None = None
    thought_signature: str | None = None
    functionCall: _Call | None = None
    function_call: _Call | None = None
    functionResponse: _Response | None = None
    function_response: _Response | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None
    role: Literal["user", "model", "function", "tool", "system"] | None = None


class _Candidate(msgspec.Struct):
    content: _Content | None = None
    finishReason: str | None = None
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    promptTokenCount: int | None = None
    prompt_token_count: int | None = None
    toolUsePromptTokenCount: int | None = None
    tool_use_prompt_token_count: int | None = None
    cachedContentTokenCount: int | None = None
    cached_content_token_count: int | None = None
    candidatesTokenCount: int | None = None
    candidates_token_count: int | None = None
    thoughtsTokenCount: int | None = None
    thoughts_token_count: int | None = None


class _ResponseBody(msgspec.Struct):
    candidates: list[_Candidate]
    modelVersion: str | None = None
    model_version: str | None = None
    responseId: str | None = None
    response_id: str | None = None
    usageMetadata: _Usage | None = None
    usage_metadata: _Usage | None = None


class _Kind(msgspec.Struct):
    candidates: Any = None
    content: Any = None


_kind = msgspec.json.Decoder(_Kind)
_content = msgspec.json.Decoder(_Content)
_candidate = msgspec.json.Decoder(_Candidate)
_response = msgspec.json.Decoder(_ResponseBody)
_text = msgspec.json.Decoder(str)


def read(message: bytes | Raw) -> list[Json]:
    """Return the agents' messages for a content, a candidate or a complete response.

    A content becomes one message, or one for each function response and each run of parts between them.

    Raises:
        UnreadableMessage: The message is not one of this format.
        msgspec.DecodeError: The message is not valid JSON, or not of the expected types.
    """
    kind = _kind.decode(message)
    if kind.candidates is not None:
        return [_of_response(_response.decode(message))]
    if kind.content is not None:
        return [_of_candidate(_candidate.decode(message), _ResponseBody([]), ".content")]
    decoded = _content.decode(message)
    if decoded.role == "model":
        return [_of_candidate(_Candidate(decoded), _ResponseBody([]), "")]
    if decoded.role == "system":
        return [build.system(_joined_text(decoded))]
    return _user_messages(decoded)


def _of_response(response: _ResponseBody) -> Json:
    if len(response.candidates) != 1:
        raise UnreadableMessage(
            "A response must have one candidate; send another candidate separately", ".candidates"
        )
    return _of_candidate(response.candidates[0], response, ".candidates[0].content")


def _of_candidate(candidate: _Candidate, response: _ResponseBody, location: str) -> Json:
    parts = (candidate.content.parts if candidate.content is not None else None) or []
    call_counts = Counter[str]()
    content = [_of_model(part, call_counts, f"{location}.parts[{at}]") for at, part in enumerate(parts)]
    calls = any(block["type"] == "toolCall" for block in content)
    finished = candidate.finishReason or candidate.finish_reason
    reason = _FINISH_REASONS.get(finished or "STOP", "error")
    usage = response.usageMetadata or response.usage_metadata
    return build.assistant(
        content,
        ResponseDetails(
            api="google-generative-ai",
            provider="google",
            model=response.modelVersion or response.model_version,
            usage=TokenUsage() if usage is None else _usage(usage),
            stop_reason="toolUse" if calls and reason == "stop" else reason,
            error=f"The model stopped: {finished}." if reason == "error" else None,
            response_id=response.responseId or response.response_id,
        ),
    )


def _user_messages(decoded: _Content) -> list[Json]:
    messages: list[Json] = []
    current: list[Json] | None = None
    call_counts = Counter[str]()
    for at, part in enumerate(decoded.parts or ()):
        response = part.functionResponse or part.function_response
        if response is not None:
            messages.append(_result(response, call_counts, f".parts[{at}]"))
            current = None
        else:
            if current is None:
                current = []
                messages.append(build.user(current))
            current.append(_of_user(part, f".parts[{at}]"))
    return messages or [build.user([])]


def _of_user(part: _Part, location: str) -> Json:
    if part.text is not None:
        return build.text(part.text)
    return _image(part, location)


def _of_model(part: _Part, call_counts: Counter[str], location: str) -> Json:
    signature = part.thoughtSignature or part.thought_signature
    call = part.functionCall or part.function_call
    if call is not None:
        arguments = (
            Raw(b"{}") if call.args is UNSET else build.an_object(call.args, f"{location}.functionCall.args")
        )
        return build.call(call.id or _generated_id(call.name, call_counts), call.name, arguments, signature)
    if part.text is not None and part.thought:
        return build.thinking(part.text, signature)
    if part.text is not None:
        return build.text(part.text, signature)
    return _image(part, location)


def _result(response: _Response, call_counts: Counter[str], location: str) -> Json:
    """Return a tool result: the text of `output` or `error` if it is the only field, or else the response as JSON."""
    decoded, is_error = response.response, "error" in response.response
    text_only = _only_text(decoded)
    encoded = Raw(msgspec.json.encode(decoded))
    content = [build.text(bytes(encoded).decode() if text_only is None else text_only)]
    content += [
        _image(part, f"{location}.functionResponse.parts[{at}]")
        for at, part in enumerate(response.parts or ())
    ]
    call_id = response.id or _generated_id(response.name, call_counts)
    result = build.tool_result(call_id, response.name, content, is_error=is_error)
    return result if text_only is not None else {**result, "details": encoded}


def _only_text(decoded: dict[str, Raw]) -> str | None:
    if len(decoded) != 1 or not decoded.keys() <= {"output", "error"}:
        return None
    try:
        return _text.decode(next(iter(decoded.values())))
    except msgspec.ValidationError:
        return None


def _generated_id(name: str, call_counts: Counter[str]) -> str:
    """Return an id for a call without one. The response in the same position gets the same id."""
    call_counts[name] += 1
    return f"{GENERATED_ID_PREFIX}{name}_{call_counts[name] - 1}"


def _image(part: _Media, location: str) -> Json:
    blob, file = part.inlineData or part.inline_data, part.fileData or part.file_data
    if blob is not None:
        media_type = blob.mimeType or blob.mime_type or ""
        if not media_type.startswith("image/"):
            raise UnreadableMessage("Inline data must be an image", f"{location}.inlineData.mimeType")
        return build.image(media_type, blob.data)
    link = (file.fileUri or file.file_uri) if file is not None else None
    if file is None or link is None:
        raise UnreadableMessage("The part has no text, image, call or response", location)
    return build.linked_image(link, file.mimeType or file.mime_type)


def _joined_text(decoded: _Content) -> str:
    texts = [part.text for part in decoded.parts or () if part.text is not None]
    return "\n\n".join(texts)


def _usage(usage: _Usage) -> TokenUsage:
    prompt = usage.promptTokenCount or usage.prompt_token_count or 0
    prompt += usage.toolUsePromptTokenCount or usage.tool_use_prompt_token_count or 0
    cached = usage.cachedContentTokenCount or usage.cached_content_token_count or 0
    output = usage.candidatesTokenCount or usage.candidates_token_count or 0
    output += usage.thoughtsTokenCount or usage.thoughts_token_count or 0
    return TokenUsage(max(0, prompt - cached), output, cached)
