"""Finds the data on a path that a request needs besides messages: system prompt, provider, last change."""

from typing import Any, Final

import msgspec

from sessiond.session.context.context import Context
from sessiond.session.formats.write import RequestData
from sessiond.session.tree import payloads, steps
from sessiond.session.tree.steps import Read, Steps
from sessiond.session.tree.tree import KIND, Tree

_SESSION_INIT: Final = KIND["session_init"]
_CHANGES: Final = frozenset((KIND["compaction"], KIND["context_edit"]))


class _Init(msgspec.Struct, rename="camel"):
    system_prompt: Any = None


_init = msgspec.json.Decoder(_Init)


def request_data(
    tree: Tree, leaf_row: int, context: Context, read: Read
) -> Steps[tuple[RequestData, str | None]]:
    """Return this data for a context that was built for `leaf_row`, and the id of the entry with the system prompt."""
    path = yield from steps.path(tree, leaf_row)
    prompt = entry_id = None
    changed = -1
    for index in range(len(path) - 1, -1, -1):
        kind = tree.kind(path[index])
        if kind == _SESSION_INIT and prompt is None:
            init = payloads.part(_init, read([path[index]])[0])
            if init is not None and isinstance(init.system_prompt, str) and init.system_prompt.strip():
                prompt, entry_id = init.system_prompt, tree.id(path[index])
        elif kind in _CHANGES:
            changed = max(changed, index)
        if index % steps.ROWS_A_STEP == 0:
            yield
    unchanged_from = 0
    if changed >= 0:
        later_ids = {tree.id(row) for row in path[changed + 1 :]}
        unchanged_from = len(context.messages)
        while unchanged_from and context.entry_ids[unchanged_from - 1] in later_ids:
            unchanged_from -= 1
    provider, slash, _ = context.models.get("default", "").partition("/")
    return RequestData(provider if slash else None, prompt, unchanged_from), entry_id
