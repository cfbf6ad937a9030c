"""The manual page: generated from what the commands take, installed where man looks, and without a fault."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sessiond.cli.exit_codes import MEANINGS
from sessiond.cli.help import manual
from sessiond.cli.table.index import all_commands

DECLARED = all_commands()


ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "daemon/man/sessiond.1"


def test_the_manual_page_is_as_the_commands_are() -> None:
    command = [sys.executable, str(ROOT / "scripts/gen_man.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr


def test_a_wheel_puts_it_where_man_looks() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shared = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert {(ROOT / ours).name: where for ours, where in shared.items()} == {
        "sessiond.1": "share/man/man1/sessiond.1"
    }
    assert all((ROOT / ours).is_file() for ours in shared)


def test_nothing_in_it_is_taken_for_a_request() -> None:
    known = {
        "TH",
        "SH",
        "SS",
        "TP",
        "RS",
        "RE",
        "PP",
        "B",
        "BR",
        "I",
        "br",
        "sp",
        "nf",
        "fi",
        "nh",
        "ad",
        r"\"",
    }
    requests = re.findall(r"^[.']\s*(\S*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(requests) <= known


@pytest.mark.system
def test_it_is_shown_whole_and_without_a_warning() -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("there is no groff: apt-get install groff-base")
    command = [groff, "-man", "-ww", "-Tascii", "-P-c", str(PAGE)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=120)
    shown = re.sub(r".\x08", "", done.stdout)
    assert done.stderr == ""
    for name, declared in DECLARED.items():
        assert f"sessiond {name}" in shown
        assert all(f"--{option.name}" in shown for option in declared.options)
    assert all(name in shown for name in manual.ENVIRONMENT)
    assert all(f"\n       {code} " in shown for code in MEANINGS)


def test_every_variable_that_commands_look_at_is_in_it() -> None:
    read = (ROOT / "daemon/sessiond").rglob("*.py")
    named = {
        name for path in read for name in re.findall(r"\"(SESSIOND_[A-Z_]+[A-Z])\"", path.read_text("utf-8"))
    }
    assert named - {"SESSIOND_LAUNCHD"} <= manual.ENVIRONMENT.keys()
