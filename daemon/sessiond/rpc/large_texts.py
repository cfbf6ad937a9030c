"""Recognizes notifications with file texts that exceed the frame limit.

Editors send file texts without knowing the limit. Such a notification is skipped, because it has no response. Closing
the connection instead would close it again after each reconnect of the editor.
"""

import re
from typing import Final

_TEXT: Final = re.compile(rb'"method"\s*:\s*"textDocument/did(?:Open|Change)"|"languageId"\s*:')
_ID: Final = re.compile(rb'"id"\s*:')


def is_large_text(head: bytes) -> bool:
    """Return whether a body with this start is `textDocument/didOpen` or `didChange` without an id."""
    return _TEXT.search(head) is not None and _ID.search(head) is None
