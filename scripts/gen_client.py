#!/usr/bin/env python3
"""Render daemon/client.md, the reference of the Python client, from its code; `--check` only compares.

Needs only Python. A public name without a docstring, or a name of `sessiond.client` that no part has, is an error.
Run it after scripts/gen_protocol.py, which writes the methods of the asynchronous client.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "daemon/client.md"
PACKAGE = ROOT / "daemon/sessiond/client"
START, END = "<!-- generated: reference -->\n", "<!-- end -->"

PARTS = {
    "The asynchronous client": (
        ("daemon", "connect", "Daemon"),
        ("methods.base", "Methods"),
        ("methods.sessions", "SessionMethods"),
        ("methods.append", "AppendMethods"),
        ("methods.entries", "EntryMethods"),
        ("methods.context", "ContextMethods"),
        ("methods.state", "StateMethods"),
        ("methods.views", "ViewMethods"),
        ("methods.exchange", "ExchangeMethods"),
        ("methods.history", "HistoryMethods"),
        ("methods.blobs", "BlobMethods"),
        ("methods.retention", "RetentionMethods"),
        ("methods.process", "ProcessMethods"),
        ("methods.agents", "AgentsMethods"),
        ("methods.sync", "SyncMethods"),
        ("subscription", "Subscription"),
        ("notifications", "Notifications"),
        ("watched_list", "WatchedList", "ListChange"),
        ("results", "Entries", "DecodedEntry", "SessionContext", "DecodedMessage", "AppendedBatch"),
    ),
    "Sessions of an agent": (
        ("agent", "AgentSession"),
        ("summarizer", "SummaryRequest", "Summary"),
    ),
    "The blocking client": (("blocking", "connect", "BlockingDaemon"),),
    "Errors": (
        ("wire", "RpcError", "DisconnectedError", "DaemonUnresponsiveError", "InvalidResponseError"),
        ("daemon_socket", "DaemonConnectionError"),
        ("notifications", "NotificationsMissedError"),
        ("agent", "ContextOverflowError"),
    ),
}
"""Heading -> the modules and their names, in the order in which one reads them."""

CALLED_BY_THE_LINK = frozenset(("notified", "disconnected"))
"""Methods that are public for another module of the client, not for programs."""

WIDTH = 100

Function = ast.FunctionDef | ast.AsyncFunctionDef


def reference() -> str:
    """Everything below the marker. Exits when a public name is missing or undocumented."""
    homes = public_names()
    blocks = []
    for heading, modules in PARTS.items():
        blocks.append(f"## {heading}")
        for module, *names in modules:
            definitions = definitions_of(module)
            for name in names:
                public = homes.pop((module, name), name)
                blocks += described(definitions[name], public)
    if homes:
        raise SystemExit(f"gen_client: put {', '.join(homes.values())} into PARTS")
    return "\n\n".join(blocks)


def public_names() -> dict[tuple[str, str], str]:
    """Module and name of each public name of the package -> that public name."""
    for statement in parsed("__init__").body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "_HOMES":
            return {home: name for name, home in ast.literal_eval(statement.value).items()}
    raise SystemExit("gen_client: client/__init__.py has no _HOMES")


def definitions_of(module: str) -> dict[str, Function | ast.ClassDef]:
    return {
        statement.name: statement
        for statement in parsed(module).body
        if isinstance(statement, Function | ast.ClassDef)
    }


def parsed(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module.replace(".", "/")).with_suffix(".py").read_bytes())


def described(definition: Function | ast.ClassDef, name: str) -> Iterator[str]:
    """The blocks of a function, or of a class and its public methods."""
    if isinstance(definition, Function):
        yield f"### {name}"
        yield signature(definition, name)
        yield documentation(definition, name)
        return
    if name.endswith("Methods"):  # a base of `Daemon`, whose part has its methods
        if name != "Methods":
            yield f"### {documentation(definition, name).partition('.')[0]}"
        name = "Daemon"
    else:
        yield f"### {name}"
        if fields := fields_of(definition):
            yield fields
        yield documentation(definition, name)
    for statement in definition.body:
        if (
            isinstance(statement, Function)
            and not statement.name.startswith("_")
            and statement.name not in CALLED_BY_THE_LINK
        ):
            yield f"#### {name}.{statement.name}"
            yield signature(statement, statement.name)
            yield documentation(statement, f"{name}.{statement.name}")


def fields_of(definition: ast.ClassDef) -> str:
    """The fields that a class declares, as code; empty if it declares none."""
    fields = [
        statement
        for statement in definition.body
        if isinstance(statement, ast.AnnAssign) and not ast.unparse(statement.target).startswith("_")
    ]
    lines = "\n".join(f"    {source(field)}" for field in fields)
    return f"```python\nclass {definition.name}:\n{lines}\n```" if fields else ""


def signature(function: Function, name: str) -> str:
    """The first lines of a function as code, without `self`; of a property, its type."""
    decorators = {ast.unparse(expression) for expression in function.decorator_list}
    returns = source(function.returns) if function.returns else "None"
    if "property" in decorators:
        return f"```python\n{name}: {returns}\n```"
    if "asynccontextmanager" in decorators:
        start, returns = "async with ", returns.removeprefix("AsyncIterator[").removesuffix("]").strip('"')
    else:
        start = "async def " if isinstance(function, ast.AsyncFunctionDef) else "def "
    arguments = argument_list(function.args)
    line = f"{start}{name}({', '.join(arguments)}) -> {returns}"
    if len(line) > WIDTH:
        line = f"{start}{name}(\n    " + ",\n    ".join(arguments) + f",\n) -> {returns}"
    marks = [f"@{text}\n" for text in ("classmethod", "staticmethod") if text in decorators]
    return f"```python\n{''.join(marks)}{line}\n```"


def argument_list(arguments: ast.arguments) -> list[str]:
    """Each argument with its type and default, as in the source."""
    positional = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    found = [
        argument(*row) for row in zip(positional, defaults, strict=True) if row[0].arg not in ("self", "cls")
    ]
    if arguments.vararg:
        found.append(f"*{argument(arguments.vararg, None)}")
    elif arguments.kwonlyargs:
        found.append("*")
    return found + [argument(*row) for row in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]


def argument(parameter: ast.arg, default: ast.expr | None) -> str:
    text = f"{parameter.arg}: {source(parameter.annotation)}" if parameter.annotation else parameter.arg
    return text if default is None else f"{text} = {source(default)}"


def source(node: ast.AST) -> str:
    """The code of a part, with the quotes that the project uses."""
    return ast.unparse(node).replace("'", '"')


def documentation(definition: Function | ast.ClassDef, name: str) -> str:
    """A docstring as Markdown: its lists of arguments and errors become lists."""
    text = ast.get_docstring(definition)
    if not text:
        raise SystemExit(f"gen_client: {name} has no docstring")
    prose, *sections = re.split(r"^(Args|Returns|Raises|Attributes):\n", text, flags=re.MULTILINE)
    blocks = [protocol_links(prose.strip())]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        lines = [line.removeprefix("    ") for line in body.strip("\n").splitlines()]
        blocks.append(
            f"**{title}.** {joined(lines)}" if title == "Returns" else f"**{title}**\n\n{items(lines)}"
        )
    return "\n\n".join(blocks)


def items(lines: list[str]) -> str:
    """Lines of `name: meaning` as a list. An indented line continues the previous one."""
    found: list[list[str]] = []
    for line in lines:
        if line.startswith(" "):
            found[-1].append(line)
        elif line:
            found.append([line])
    pairs = (joined(row).partition(": ") for row in found)
    return "\n".join(f"- `{name}`: {meaning}" for name, _, meaning in pairs)


def joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def protocol_links(prose: str) -> str:
    """The sentence that names a method of the protocol, with a link to it."""
    return re.sub(
        r"^Method `([a-zA-Z]+)/([a-zA-Z]+)`\.$",
        lambda match: f"Method [`{match[1]}/{match[2]}`](../protocol.md#{(match[1] + match[2]).lower()}).",
        prose,
        flags=re.MULTILINE,
    )


def rendered(page: str) -> str:
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"gen_client: {PAGE.relative_to(ROOT)} has lost its markers")
    return f"{before}{start}\n{reference()}\n\n{end}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when the page is out of date"
    )
    arguments = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    if (wanted := rendered(page)) == page:
        return 0
    if arguments.check:
        print(f"{PAGE.relative_to(ROOT)} is out of date. Run scripts/gen_client.py.", file=sys.stderr)
        return 1
    PAGE.write_text(wanted, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
