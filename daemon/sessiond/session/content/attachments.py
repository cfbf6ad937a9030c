"""Attachments: the files that an agent wrote beside its transcript, as entries beside the conversation (decision 0070).

The file is in the entry's `data`: a text in `text`, of which a long one is cut and whole in a blob, as in any entry
(decision 0014), and other content in `blob`. `targetId` is the entry of the result whose whole output the file is.
"""

from typing import Any, Final

import msgspec

from sessiond.session.content import blobs, fields
from sessiond.session.tree import entries

INLINE_BYTES: Final = 8 * 1024
"""The maximum bytes of a text without a blob. A blob needs a file of its own."""
SHOWN_CHARS: Final = 256 * 1024
"""Characters of a text that are shown with the entry to which it belongs. The entry of the file has all of it."""
HEAD_BYTES: Final = 4 * 1024
"""Bytes of a longer text that remain in the entry."""


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """One file.

    Attributes:
        kind: Its kind: an `agents.attachments.AttachmentKind`.
        name: Its name, with the folder that it is in.
        path: Its path when it was read.
        size_bytes: Its size.
        digest: The SHA-256 of its content; empty if the text is in the entry.
        head: Its text, or the beginning of it; None if it is no text.
        target_id: The entry to which it belongs; None if it belongs to the session.
    """

    kind: str
    name: str
    path: str
    size_bytes: int
    digest: str = ""
    head: str | None = None
    target_id: str | None = None

    @property
    def title(self) -> str:
        """Its name for people, with what it is."""
        return f"Whole output ({self.name})" if self.kind == "toolOutput" else self.name


def payload_of(attachment: Attachment) -> dict[str, Any]:
    """Return the fields of the entry of an attachment beside type, id, parent and time."""
    data: dict[str, Any] = {
        "kind": attachment.kind, "name": attachment.name, "path": attachment.path,
        "sizeBytes": attachment.size_bytes,
    }  # fmt: skip
    if attachment.target_id is not None:
        data["targetId"] = attachment.target_id
    payload: dict[str, Any] = {"customType": entries.ATTACHMENT_TYPE, "data": data}
    reference = blobs.PREFIX + attachment.digest
    if attachment.head is None:
        data["blob"] = reference
    elif attachment.digest:
        data["text"] = attachment.head + blobs.NOTICE
        payload[blobs.FIELD] = {"/data/text": reference}
    else:
        data["text"] = attachment.head
    return payload


def attachment_of(entry: dict[str, Any]) -> Attachment | None:
    """Return the attachment that a decoded entry holds; None for any other entry."""
    if entry.get("customType") != entries.ATTACHMENT_TYPE:
        return None
    data = fields.mapping(entry.get("data"))
    text = fields.text(data.get("text"))
    reference = (
        fields.mapping(entry.get(blobs.FIELD)).get("/data/text") if "text" in data else data.get("blob")
    )
    digest = blobs.reference_hash(fields.as_text(reference)) or ""
    if text is None and "text" in data:
        text = ""
    return Attachment(
        kind=fields.as_text(data.get("kind")) or "file",
        name=fields.as_text(data.get("name")),
        path=fields.as_text(data.get("path")),
        size_bytes=int(fields.number(data.get("sizeBytes"))),
        digest=digest,
        head=None if text is None else text.removesuffix(blobs.NOTICE) if digest else text,
        target_id=fields.text(data.get("targetId")),
    )
