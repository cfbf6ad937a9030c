"""Finds the data on a path that a request needs besides messages: system prompt, provider, last change."""

from typing import Any, Final

import msgspec

from sessiond.session.context.context import Context
from sessiond.session.formats.write import Beside
from sessiond.session.tree import payloads, steps
from sessiond.session.tree.steps import Read, Steps
from sessiond.session.tree.tree import KIND, Tree

_SESSION_INIT: Final = KIND["session_init"]
_CHANGES: Final = frozenset((KIND["compaction"], KIND["context_edit"]))


class _Init(msgspec.Struct, rename="camel"):
    system_prompt: Any = None


_init = msgspec.json.Decoder(_Init)


def beside(tree: Tree, leaf_row: int, context: Context, read: Read) -> Steps[tuple[Beside, str | None]]:
    """Return this data for a context that was built for `leaf_row`, and the id of the entry with the system prompt."""
    path = yield from steps.path(tree, leaf_row)
    prompt = entry_id = None
    changed = -1
    for at in range(len(path) - 1, -1, -1):
        kind = tree.kind(path[at])
        if kind == _SESSION_INIT and prompt is None:
            found = payloads.part(_init, read([path[at]])[0])
            if found is not None and isinstance(found.system_prompt, str) and found.system_prompt.strip():
                prompt, entry_id = found.system_prompt, tree.id(path[at])
        elif kind in _CHANGES:
            changed = max(changed, at)
        if at % steps.ROWS_A_STEP == 0:
            yield
    unchanged_from = 0
    if changed >= 0:
        later = {tree.id(row) for row in path[changed + 1 :]}
        unchanged_from = len(context.messages)
        while unchanged_from and context.entry_ids[unchanged_from - 1] in later:
            unchanged_from -= 1
    provider, slash, _ = context.models.get("default", "").partition("/")
    return Beside(provider if slash else None, prompt, unchanged_from), entry_id
