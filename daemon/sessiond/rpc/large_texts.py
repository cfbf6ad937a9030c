"""Texts of files that editors send without being able to know that they are too large for a message.

Such a notification is left out: nobody waits for an answer, and to end the connection for it would end it again as
soon as the editor is back.
"""

import re
from typing import Final

_TEXT: Final = re.compile(rb'"method"\s*:\s*"textDocument/did(?:Open|Change)"|"languageId"\s*:')
_ID: Final = re.compile(rb'"id"\s*:')


def is_large_text(head: bytes) -> bool:
    """Whether a body that begins so is `textDocument/didOpen` or `didChange`, which have no id."""
    return _TEXT.search(head) is not None and _ID.search(head) is None
