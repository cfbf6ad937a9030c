"""sessiond view: a page for one browser of this machine, followed live."""

import os
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from campaigns.attacks.users import NOBODY, nobodys_python
from support.homes import wait_until
from support.viewers import a_view

pytestmark = [pytest.mark.slow]


def test_the_token_is_good_once_and_then_the_key_is(tmp_path: Path) -> None:
    with a_view(tmp_path) as viewed:
        assert urlsplit(viewed.address).hostname == "127.0.0.1"
        assert viewed.refusal() == viewed.refusal(token="guessed") == viewed.refusal(pageKey="") == 403
        with viewed.reading(token=viewed.token) as lines:
            key = lines.keys["pageKey"]
            assert lines.previews() == ["Live", "Why?", "A race."]
        assert viewed.refusal(token=viewed.token) == viewed.refusal(pageKey=viewed.token) == 403
        assert viewed.refusal(pageKey=key[:-1]) == viewed.refusal(token=key) == 403
        with viewed.reading(pageKey=key, after=3) as lines:
            assert lines.previews() == []
            viewed.say("user", "Really?")
            told = lines.next()
        assert [row["preview"] for row in told["rows"]] == ["Really?"]
        assert told["session"]["leafId"] == told["rows"][0]["id"]


def test_each_viewer_has_a_port_a_token_and_keys_of_its_own(tmp_path: Path) -> None:
    with a_view(tmp_path) as one, a_view(tmp_path) as other:
        assert one.port != other.port
        with one.reading(token=one.token) as these, other.reading(token=other.token) as those:
            assert these.keys.keys() == those.keys.keys()
            assert not {*these.keys.values()} & {*those.keys.values()}
            assert other.refusal(**these.keys) == 403


def test_a_viewer_that_ends_says_so_to_its_page(tmp_path: Path) -> None:
    with a_view(tmp_path) as viewed, viewed.reading(token=viewed.token) as lines:
        lines.next()
        viewed.process.send_signal(signal.SIGINT)
        assert lines.next() == {"ended": True}


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_is_refused_with_the_token(tmp_path: Path, family: str) -> None:
    """Without root, `test_live_page.py` tells the server that somebody else asks."""
    python = nobodys_python()
    assert python is not None
    with a_view(tmp_path) as viewed:
        asks = (
            f"import socket; it = socket.socket(socket.{family})\n"
            f"it.connect(({'127.0.0.1' if family == 'AF_INET' else '::ffff:127.0.0.1'!r}, {viewed.port}))\n"
            f'body = b\'{{"token": "{viewed.token}"}}\'\n'
            f"it.sendall(b'POST /events HTTP/1.1\\r\\nHost: 127.0.0.1:{viewed.port}\\r\\n"
            f"Origin: http://127.0.0.1:{viewed.port}\\r\\nContent-Length: %d\\r\\n\\r\\n' % len(body) + body)\n"
            "print(it.recv(100).splitlines()[0].decode())\n"
        )
        done = subprocess.run(
            [python, "-I", "-S", "-c", asks], user=NOBODY, group=NOBODY, extra_groups=[], cwd="/",
            capture_output=True, encoding="utf-8", timeout=60, check=True,
        )  # fmt: skip
        assert done.stdout == "HTTP/1.1 403 Forbidden\n"
        with viewed.reading(token=viewed.token) as lines:  # which is not used up
            assert lines.previews() == ["Live", "Why?", "A race."]


def test_the_token_stands_in_no_command_line_and_in_no_output_but_the_address(tmp_path: Path) -> None:
    """The program that opens a browser gets a file in a private folder, which is gone afterwards."""
    told = tmp_path / "told"
    opener = tmp_path / "opener"
    lead = '"${1#file://}"'
    opener.write_text(
        f'#!/bin/sh\n{{ echo "$1"; stat -c "%a %U" "$(dirname {lead})"; cat {lead}; }} > "{told}.new"\n'
        f'mv "{told}.new" "{told}"\n',
        encoding="utf-8",
    )
    opener.chmod(0o755)
    with a_view(tmp_path, "--port", "0", BROWSER=f"{opener} %s") as viewed:
        wait_until(told.exists)
        lead_to, mode, text = told.read_text(encoding="utf-8").split("\n", 2)
        assert viewed.refusal(token=viewed.token + "x") == 403
        with viewed.reading(token=viewed.token):
            lines = {path: _command_line(path) for path in Path("/proc").glob("[0-9]*")}
        viewed.process.send_signal(signal.SIGINT)
        more, said = viewed.process.communicate(timeout=60)
        logs = [path.read_text("utf-8") for path in Path(viewed.shell.locations.state).rglob("*.log")]
    assert viewed.token not in lead_to
    assert mode.startswith("700 ")
    assert viewed.address in text
    assert not Path(lead_to.removeprefix("file://")).exists()
    assert any(b"sessiond" in line for line in lines.values())
    assert [process for process, line in lines.items() if viewed.token.encode() in line] == []
    assert [item for item in (more, said, *logs) if viewed.token in item] == []


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""  # it has ended
