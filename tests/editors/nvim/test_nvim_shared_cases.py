"""The plugin, in every supported version of Neovim, over the cases that all clients share."""

import json  # noqa: TID251 - what Neovim writes
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.installed_editors import installed
from support.neovim import PLUGIN
from support.shared_cases import CASES, filled, paths_here, places

pytestmark = [pytest.mark.editors, pytest.mark.timeout(60)]

SCRIPT = Path(__file__).parent / "shared_cases.lua"


def ran(program: str, cases: dict[str, Any], folder: Path, home: Path) -> dict[str, Any]:
    """The results of the plugin for the cases, with files of sessiond in `home` where one is needed."""
    file = folder / "cases.json"
    file.write_text(json.dumps(cases), encoding="utf-8")
    words = ("--clean", "-n", "-i", "NONE", "--cmd", f"set rtp^={PLUGIN}", "-l", os.fspath(SCRIPT))
    done = subprocess.run(
        [installed(program), *words, os.fspath(file), os.fspath(home)],
        env={"PATH": os.environ["PATH"], "HOME": os.fspath(folder), "XDG_STATE_HOME": os.fspath(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("program", ["nvim-0.10", "nvim-0.11", "nvim-newest"])
def test_shared_cases(program: str, tmp_path: Path) -> None:
    with places() as placed:
        home = Path(placed["open"])
        (home / "state").mkdir()
        socket = {"socket": f"{home}/run/sessiond.sock"}
        paths, sockets = paths_here(placed), [filled(row, socket) for row in CASES["sockets"]]
        found = ran(program, {**CASES, "paths": paths, "sockets": sockets}, tmp_path, home)
    for row, path in zip(paths, found["paths"], strict=True):
        state = row["state"]
        assert path == {
            "state": state,
            "socket": row["socket"],
            "endpoint": f"{state}/endpoint.json",
            "log": f"{state}/sessiond.log",
        }, row["name"]
    for row, names in zip(sockets, found["sockets"], strict=True):
        assert names == [filled(name, socket) for name in row["sockets"]], row["name"]
    for row, (params, repeatable) in zip(CASES["requests"], found["requests"], strict=True):
        assert (with_new_ids(params, row["params"]), repeatable) == (row["sent"], row["repeatable"]), row[
            "name"
        ]
    for row, reached in zip(CASES["outcomes"], found["outcomes"], strict=True):
        assert (reached["outcome"], len(reached["sent"])) == (row["outcome"], row["sent"]), row
        assert all(params == reached["sent"][0] for params in reached["sent"])
    assert found["pauses"] == CASES["pauses"]
    for row, terminal in zip(CASES["terminals"], found["terminals"], strict=True):
        assert terminal == {"id": row["id"], "kind": row["kind"]}, row["name"]


def with_new_ids(found: Any, given: Any) -> Any:
    """Params as the table has them, where the plugin has added ids."""
    if isinstance(found, list):
        return [with_new_ids(one, other) for one, other in zip(found, given, strict=True)]
    added = {name: "<new>" for name in ("id", "commandId") if found.get(name) != given.get(name)}
    if "entries" in found:
        added["entries"] = with_new_ids(found["entries"], given["entries"])
    return {**found, **added}
