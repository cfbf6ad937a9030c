"""The description of fields that mean the same in every type.

A comment at the field itself takes precedence.
"""

from typing import Final

COMMON_FIELDS: Final[dict[str, str]] = {
    "sessionId": "the id of the session",
    "logId": 'the log that the seqs are in, see "Positions"',
    "seq": "the seq of the line",
    "lastSeq": "the seq of the last line of the log",
    "leafId": "the leaf; null before the first entry",
    "previousLeafId": "the leaf before the request; null before the first entry",
    "entryId": "the id of the entry",
    "parentSessionId": "the id of the session that this one was made from; null if there is none or it is unknown",
    "parentId": "the id of the parent; null for a root",
    "session": "the session",
    "cwd": "the folder of the session",
    "title": "the title; null without one",
    "tags": "the tags of the session",
    "model": "`provider/model`; null if unknown",
    "path": "the path of the session file; null for an ephemeral session",
    "origin": "the cause of the change",
    "problems": "the problems of the file",
    "message": "a sentence for people",
    "severity": "the severity",
    "createdAt": "the time of the creation",
    "updatedAt": "the time of the last change",
    "modifiedAt": "the time of the last change of the file",
    "timestamp": "the time of the entry, as it is stored; null without one",
    "role": "the role of the message; null for an entry of another type",
    "label": "the label; null without one",
    "preview": "the beginning of the text, in one line",
    "sizeBytes": "the size, in bytes",
    "nextCursor": "of the next page; null on the last one",
    "previousCursor": "the cursor of the previous page; null on the first page",
    "dryRun": "whether nothing was changed",
    "missingBlobs": "the hashes of blobs that could not be restored",
    "clientId": "the id of the client",
    "terminal": "the terminal of the client; null without one",
    "pid": "the process id of the daemon",
    "epoch": "the id of this start of the daemon",
    "hash": "the SHA-256 of the bytes, in hexadecimal digits",
    "summary": "the text of the summary; null without one",
    "tokens": "the number of tokens",
}
