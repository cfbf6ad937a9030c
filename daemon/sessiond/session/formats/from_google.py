"""Reads a content of Google's Gemini API, in camelCase or snake_case, or a complete response."""

from collections import Counter
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.session.formats import made
from sessiond.session.formats.conversation import MADE_ID
from sessiond.session.formats.made import AnswerDetails, Json, NotReadable, TokenUsage

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


class _Answer(msgspec.Struct):
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
_answer = msgspec.json.Decoder(_Answer)
_text = msgspec.json.Decoder(str)


def read(message: bytes | Raw) -> list[Json]:
    """Return the agents' messages for a content, a candidate or a complete response.

    A content becomes one message, or one for each function response and each run of parts between them.

    Raises:
        NotReadable: The message is not one of this format.
        msgspec.DecodeError: The message is not valid JSON, or not of the expected types.
    """
    kind = _kind.decode(message)
    if kind.candidates is not None:
        return [_of_answer(_answer.decode(message))]
    if kind.content is not None:
        return [_of_candidate(_candidate.decode(message), _Answer([]), ".content")]
    said = _content.decode(message)
    if said.role == "model":
        return [_of_candidate(_Candidate(said), _Answer([]), "")]
    if said.role == "system":
        return [made.system(_words(said))]
    return _asked(said)


def _of_answer(answer: _Answer) -> Json:
    if len(answer.candidates) != 1:
        raise NotReadable("An answer with one candidate can be kept; send another one alone", ".candidates")
    return _of_candidate(answer.candidates[0], answer, ".candidates[0].content")


def _of_candidate(candidate: _Candidate, answer: _Answer, place: str) -> Json:
    parts = (candidate.content.parts if candidate.content is not None else None) or []
    unnamed = Counter[str]()
    content = [_of_model(part, unnamed, f"{place}.parts[{at}]") for at, part in enumerate(parts)]
    calls = any(block["type"] == "toolCall" for block in content)
    finished = candidate.finishReason or candidate.finish_reason
    reason = _FINISH_REASONS.get(finished or "STOP", "error")
    usage = answer.usageMetadata or answer.usage_metadata
    return made.assistant(
        content,
        AnswerDetails(
            api="google-generative-ai",
            provider="google",
            model=answer.modelVersion or answer.model_version,
            usage=TokenUsage() if usage is None else _usage(usage),
            stop_reason="toolUse" if calls and reason == "stop" else reason,
            error=f"The model stopped: {finished}." if reason == "error" else None,
            response_id=answer.responseId or answer.response_id,
        ),
    )


def _asked(said: _Content) -> list[Json]:
    messages: list[Json] = []
    between: list[Json] | None = None
    unnamed = Counter[str]()
    for at, part in enumerate(said.parts or ()):
        response = part.functionResponse or part.function_response
        if response is not None:
            messages.append(_result(response, unnamed, f".parts[{at}]"))
            between = None
        else:
            if between is None:
                between = []
                messages.append(made.user(between))
            between.append(_of_user(part, f".parts[{at}]"))
    return messages or [made.user([])]


def _of_user(part: _Part, place: str) -> Json:
    if part.text is not None:
        return made.text(part.text)
    return _image(part, place)


def _of_model(part: _Part, unnamed: Counter[str], place: str) -> Json:
    signature = part.thoughtSignature or part.thought_signature
    call = part.functionCall or part.function_call
    if call is not None:
        arguments = (
            Raw(b"{}") if call.args is UNSET else made.an_object(call.args, f"{place}.functionCall.args")
        )
        return made.call(call.id or _made_id(call.name, unnamed), call.name, arguments, signature)
    if part.text is not None and part.thought:
        return made.thinking(part.text, signature)
    if part.text is not None:
        return made.text(part.text, signature)
    return _image(part, place)


def _result(response: _Response, unnamed: Counter[str], place: str) -> Json:
    """Return a tool result: the text of `output` or `error` if it is the only field, or else the response as JSON."""
    said, is_error = response.response, "error" in response.response
    words = _only_text(said)
    encoded = Raw(msgspec.json.encode(said))
    content = [made.text(bytes(encoded).decode() if words is None else words)]
    content += [
        _image(part, f"{place}.functionResponse.parts[{at}]") for at, part in enumerate(response.parts or ())
    ]
    call_id = response.id or _made_id(response.name, unnamed)
    result = made.tool_result(call_id, response.name, content, is_error=is_error)
    return result if words is not None else {**result, "details": encoded}


def _only_text(said: dict[str, Raw]) -> str | None:
    if len(said) != 1 or not said.keys() <= {"output", "error"}:
        return None
    try:
        return _text.decode(next(iter(said.values())))
    except msgspec.ValidationError:
        return None


def _made_id(name: str, unnamed: Counter[str]) -> str:
    """Return an id for a call without one. The response in the same position gets the same id."""
    unnamed[name] += 1
    return f"{MADE_ID}{name}_{unnamed[name] - 1}"


def _image(part: _Media, place: str) -> Json:
    blob, file = part.inlineData or part.inline_data, part.fileData or part.file_data
    if blob is not None:
        media_type = blob.mimeType or blob.mime_type or ""
        if not media_type.startswith("image/"):
            raise NotReadable("Of what is inline, only images can be kept", f"{place}.inlineData.mimeType")
        return made.image(media_type, blob.data)
    link = (file.fileUri or file.file_uri) if file is not None else None
    if file is None or link is None:
        raise NotReadable("The part has no text, image, call or response that can be kept", place)
    return made.linked_image(link, file.mimeType or file.mime_type)


def _words(said: _Content) -> str:
    texts = [part.text for part in said.parts or () if part.text is not None]
    return "\n\n".join(texts)


def _usage(usage: _Usage) -> TokenUsage:
    prompt = usage.promptTokenCount or usage.prompt_token_count or 0
    prompt += usage.toolUsePromptTokenCount or usage.tool_use_prompt_token_count or 0
    cached = usage.cachedContentTokenCount or usage.cached_content_token_count or 0
    output = usage.candidatesTokenCount or usage.candidates_token_count or 0
    output += usage.thoughtsTokenCount or usage.thoughts_token_count or 0
    return TokenUsage(max(0, prompt - cached), output, cached)
