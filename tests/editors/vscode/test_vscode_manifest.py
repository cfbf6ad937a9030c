"""The references in the extension's package.json are valid, which VS Code does not check.

These tests need neither Node nor VS Code.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).resolve().parents[3]
EXTENSION = ROOT / "editors/vscode"


def read(name: str) -> Any:
    return msgspec.json.decode((EXTENSION / name).read_bytes())


PACKAGE = read("package.json")
CONTRIBUTES = PACKAGE["contributes"]
COMMANDS: dict[str, Any] = {command["command"]: command for command in CONTRIBUTES["commands"]}
VIEWS: dict[str, Any] = {view["id"]: view for views in CONTRIBUTES["views"].values() for view in views}
SOURCE = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted((EXTENSION / "src").rglob("*.ts"))
    if path.name != "protocol.ts"
)
LITERALS = set(re.findall(r"[\"'`](sessiond\.[A-Za-z.]+)[\"'`]", SOURCE))
"""The names in the source that begin with `sessiond.`."""
CONTEXT_KEYS = set(re.findall(r"\"setContext\",\s*\"(sessiond\.[A-Za-z.]+)\"", SOURCE))
SERVED = {f"sessiond.{name}" for name in ("branch", "fork", "label", "open", "export", "compact")}
"""Commands that the daemon serves. The extension may have commands of these names."""
INTERNAL = {"sessiond.runServerCommand"}
"""Commands that only links and code actions call, with arguments."""


def settings() -> Iterator[tuple[str, Any]]:
    configuration = CONTRIBUTES["configuration"]
    for section in configuration if isinstance(configuration, list) else [configuration]:
        yield from section["properties"].items()


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def conditions() -> Iterator[str]:
    """All conditions in VS Code's `when` language."""
    for items in CONTRIBUTES["menus"].values():
        yield from (item["when"] for item in items if "when" in item)
    for name in ("viewsWelcome", "keybindings"):
        yield from (item["when"] for item in CONTRIBUTES.get(name, []) if "when" in item)
    yield from (command["enablement"] for command in COMMANDS.values() if "enablement" in command)
    yield from (view["when"] for view in VIEWS.values() if "when" in view)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_title_a_category_and_a_condition_for_the_palette(name: str) -> None:
    command = COMMANDS[name]
    assert name.startswith("sessiond.")
    assert command["category"] == "sessiond"
    assert re.fullmatch(r"%command\.[\w.]+%", command["title"])
    (entry,) = [item for item in CONTRIBUTES["menus"]["commandPalette"] if item["command"] == name]
    assert entry["when"]


def test_menus_contain_commands_of_the_extension() -> None:
    for menu, items in CONTRIBUTES["menus"].items():
        for item in items:
            assert item.get("command", item.get("submenu")) in COMMANDS.keys() | {
                submenu["id"] for submenu in CONTRIBUTES.get("submenus", [])
            }, (menu, item)


def test_the_palette_has_no_command_that_needs_an_entry() -> None:
    menus = CONTRIBUTES["menus"]
    rows = {item["command"]: item["when"] for item in menus["view/item/context"]}
    for_entries = {name for name, when in rows.items() if re.search(r"viewItem =~ /\^entry", when)}
    assert len(for_entries) > 10
    palette = {item["command"] for item in menus["commandPalette"] if item["when"] != "false"}
    assert for_entries & palette == set()


def test_a_command_that_is_a_button_has_an_icon() -> None:
    buttons = [
        item["command"]
        for menu in ("view/title", "view/item/context", "editor/title")
        for item in CONTRIBUTES["menus"].get(menu, [])
        if item.get("group", "").startswith(("navigation", "inline")) and "command" in item
    ]
    assert [name for name in buttons if "icon" not in COMMANDS[name]] == []


def test_every_command_is_registered_and_every_registered_command_is_contributed() -> None:
    named = LITERALS & (COMMANDS.keys() | INTERNAL)
    assert COMMANDS.keys() - named == set()
    registered = set(re.findall(r"registerCommand\(\s*[\"'](sessiond\.[A-Za-z.]+)[\"']", SOURCE))
    assert registered - COMMANDS.keys() - INTERNAL == set()


def test_names_in_the_source_exist() -> None:
    prefixes, files = {"sessiond.lsp"}, {"sessiond.sock", "sessiond.log"}
    shown = {walkthrough["id"] for walkthrough in CONTRIBUTES["walkthroughs"]} | {"sessiond.status"}
    known = COMMANDS.keys() | INTERNAL | VIEWS.keys() | dict(settings()).keys() | CONTEXT_KEYS | SERVED
    assert LITERALS - known - prefixes - shown - files == set()


def test_messages_and_prompts_are_constant_or_escaped() -> None:
    """VS Code renders links in them, including command links."""
    asking = re.findall(r"show(?:Error|Warning|Information)Message\(\s*(.)|\bprompt: (?!string)(.)", SOURCE)
    assert len(asking) > 10
    escaped = re.findall(
        r"show(?:Error|Warning|Information)Message\(\s*notificationText\(|\bprompt: notificationText\(",
        SOURCE,
    )
    fixed = [message or prompt for message, prompt in asking if (message or prompt) == '"']
    assert len(escaped) + len(fixed) == len(asking)


def test_conditions_use_only_context_keys_that_the_source_sets() -> None:
    asked = {name for text in conditions() for name in re.findall(r"\bsessiond\.[A-Za-z.]+", text)}
    # A condition may also name a view (`view == sessiond.tree`) or a setting (`config.sessiond.…`).
    assert asked - CONTEXT_KEYS - VIEWS.keys() - dict(settings()).keys() == set()


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_has_an_icon_and_a_welcome_text(name: str) -> None:
    assert (EXTENSION / VIEWS[name]["icon"]).exists()
    welcome = [item for item in CONTRIBUTES["viewsWelcome"] if item["view"] == name]
    assert any("attached" in item["when"] or "offline" in item["when"] for item in welcome)


def test_a_view_has_a_welcome_text_in_every_state_without_a_daemon() -> None:
    states = ("connecting", "offline", "missing", "mismatch", "stopped", "unsupported")
    whens = [item["when"] for item in CONTRIBUTES["viewsWelcome"] if item["view"] == "sessiond.sessions"]
    for state in states:
        assert any(f"sessiond.state == {state}" in when for when in whens), state


def test_links_run_existing_commands() -> None:
    texts = read("package.nls.json")
    links = {link for text in texts.values() for link in re.findall(r"\(command:([\w.]+)", text)}
    focus = {f"{view}.focus" for view in VIEWS}  # VS Code makes one for every view
    own = {link for link in links if link.startswith("sessiond.")}
    assert own - COMMANDS.keys() - focus == set()


def test_welcome_texts_and_walkthroughs_use_only_the_markdown_that_vs_code_renders() -> None:
    texts = read("package.nls.json")
    shown = {name: text for name, text in texts.items() if name.startswith(("view.", "walkthrough."))}
    assert [name for name, text in shown.items() if "`" in text or re.search(r"(?<!\*)\*(?!\*)", text)] == []


@pytest.mark.parametrize("name", [name for name, _ in settings()])
def test_a_setting_has_a_scope_a_place_a_description_and_a_default(name: str) -> None:
    about = dict(settings())[name]
    assert name.startswith("sessiond.")
    assert about["scope"] in ("window", "resource", "machine-overridable", "application")
    assert isinstance(about["order"], int)
    assert re.fullmatch(r"%setting\.[\w.]+%", about["markdownDescription"])
    assert "default" in about
    if "enum" in about:
        assert len(about["markdownEnumDescriptions"]) == len(about["enum"])


def test_every_setting_is_used_by_the_source() -> None:
    by_the_library = {"sessiond.trace.server"}
    for name in dict(settings()).keys() - by_the_library:
        tail = name.removeprefix("sessiond.")
        assert re.search(rf"[\"'](sessiond\.)?{re.escape(tail)}[\"']", SOURCE), name


def test_settings_of_paths_are_ignored_in_an_untrusted_workspace() -> None:
    by_the_machine = {name for name, about in settings() if about["scope"] == "machine-overridable"}
    untrusted = PACKAGE["capabilities"]["untrustedWorkspaces"]
    assert untrusted["supported"] == "limited"
    assert set(untrusted["restrictedConfigurations"]) == by_the_machine


def test_the_settings_of_a_section_have_different_places() -> None:
    configuration = CONTRIBUTES["configuration"]
    for section in configuration if isinstance(configuration, list) else [configuration]:
        places = [about["order"] for about in section["properties"].values()]
        assert len(set(places)) == len(places)


def test_every_text_is_used_and_every_used_text_exists() -> None:
    used = {found for text in strings(PACKAGE) for found in re.findall(r"^%(.+)%$", text)}
    assert used == read("package.nls.json").keys()


def test_files_in_the_manifest_exist() -> None:
    named = [PACKAGE["icon"], *(item["icon"] for item in CONTRIBUTES["viewsContainers"]["activitybar"])]
    for walkthrough in CONTRIBUTES["walkthroughs"]:
        for step in walkthrough["steps"]:
            media = step["media"]
            named.append(media.get("svg") or media.get("markdown"))
            assert step["completionEvents"]
    assert [name for name in named if not (EXTENSION / name).exists()] == []


def test_dependencies_are_pinned_and_the_lock_file_names_no_registry() -> None:
    for name in ("dependencies", "devDependencies"):
        assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in PACKAGE[name].values())
    packages = read("package-lock.json")["packages"]
    assert [name for name, about in packages.items() if "resolved" in about] == []


def test_the_oldest_vs_code_is_the_one_that_the_types_are_of() -> None:
    assert PACKAGE["engines"]["vscode"] == f"^{PACKAGE['devDependencies']['@types/vscode']}"


def test_the_tables_of_the_readme_match_the_manifest() -> None:
    command = [sys.executable, str(ROOT / "scripts/gen_vscode_readme.py"), "--check"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr


def test_pictures_of_the_readme_exist() -> None:
    page = (EXTENSION / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page)
    assert [name for name in pictures if not (EXTENSION / name).exists()] == []
