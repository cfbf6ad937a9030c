#!/usr/bin/env python3
"""Render protocol.md's tables, the editors' types, the client's methods and the schemas; `--check` only compares.

Run it after each change of daemon/sessiond/protocol: `python scripts/gen_protocol.py`. A release also keeps its
protocol for the tests: `--released`.
"""

import argparse
import difflib
import sys
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import msgspec
from scripts.protocol import lua, markdown, metamodel, openrpc, python, typescript
from scripts.protocol.calls import Topic
from scripts.protocol.notes import JsonSchema

from sessiond import __version__
from sessiond.protocol.schema import schema, whole_schema

ROOT = Path(__file__).resolve().parent.parent
RELEASED = ROOT / "tests" / "data" / "protocol"


def _json(document: JsonSchema) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def _methods(topic: Topic, _present: str, item: JsonSchema) -> str:
    return python.render(topic, item)


TARGETS: dict[str, Callable[[str, JsonSchema], str]] = {
    "protocol.md": markdown.render,
    "editors/vscode/src/protocol.ts": lambda _present, item: typescript.render(item),
    "editors/nvim/lua/sessiond/protocol.lua": lambda _present, item: lua.render(item),
    "daemon/schema/sessiond.schema.json": lambda _present, _it: _json(whole_schema()),
    "daemon/schema/metaModel.json": lambda _present, item: _json(metamodel.render(item)),
    "daemon/schema/openrpc.json": lambda _present, item: _json(openrpc.render(item)),
    "daemon/sessiond/cli/parse/choices.py": python.choices,
    **{path: partial(_methods, topic) for path, topic in python.targets().items()},
}


def stale() -> dict[str, tuple[str, str]]:
    """The targets that are outdated: name -> (present text, rendered text)."""
    document = schema()
    found = {}
    for name, render in TARGETS.items():
        path = ROOT / name
        present = path.read_text(encoding="utf-8") if path.exists() else ""
        wanted = render(present, document)
        if present != wanted:
            found[name] = (present, wanted)
    return found


def difference(name: str, present: str, wanted: str) -> str:
    """Return the change of a target, as a unified diff of at most 40 lines."""
    before, after = present.splitlines(), wanted.splitlines()
    lines = difflib.unified_diff(before, after, name, f"{name} (as generated)", n=1, lineterm="")
    return "\n".join(islice(lines, 40))


def keep_released() -> None:
    """Replace the meta model of the last release by that of this version, without texts."""
    for former in RELEASED.glob("metaModel-*.json"):
        former.unlink()
    model = {
        name: [_without_texts(item) for item in part] if isinstance(part, list) else part
        for name, part in metamodel.render(schema()).items()
    }
    lines = [
        f'"{name}":' + _compact(part)
        if not isinstance(part, list)
        else f'"{name}":[\n' + ",\n".join(map(_compact, part)) + "\n]"
        for name, part in model.items()
    ]
    target = RELEASED / f"metaModel-{__version__}.json"
    target.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
    print(f"wrote {target.relative_to(ROOT)}")


def _compact(part: object) -> str:
    return msgspec.json.encode(part).decode()


def _without_texts(part: object) -> object:
    if isinstance(part, dict):
        return {
            name: _without_texts(value)
            for name, value in part.items()
            if name != "documentation" or not isinstance(value, str)
        }
    return [_without_texts(item) for item in part] if isinstance(part, list) else part


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 on a difference")
    parser.add_argument(
        "--released", action="store_true", help="keep the protocol of this version for the tests"
    )
    arguments = parser.parse_args()
    if arguments.released:
        keep_released()
    found = stale()
    for name, (present, wanted) in found.items():
        if arguments.check:
            print(difference(name, present, wanted))
        else:
            target = ROOT / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(wanted, encoding="utf-8")
            print(f"wrote {name}")
    if arguments.check and found:
        print(f"{', '.join(found)}: out of date. Run scripts/gen_protocol.py.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
