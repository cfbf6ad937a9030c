"""A daemon gives back the memory that a request needed. Each measurement is made in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sessiond.hub.execution import freed_memory
from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.redaction.redactor import Redactor
from sessiond.hub.redaction.scanning_process import CACHE_VARIABLE
from sessiond.server import server
from support.daemons import running
from support.waiting import until

MEASURED = """
import sys, threading, time
from sessiond.hub.execution import freed_memory
from sessiond.server.resource_usage import _resident

def mebibytes():
    return _resident() / 2**20

def lines_of_a_session(count):
    kept = [bytes(17_000) for _ in range(count)]
    whole = b"".join(kept)
    del kept, whole
"""


def printed(script: str) -> list[float]:
    """The numbers that a process prints."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED + script], capture_output=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, done.stderr
    return [float(text) for text in done.stdout.split()]


def test_blocks_that_threads_have_freed_go_back_to_the_system() -> None:
    before, after = printed("""
freed_memory.limit()
print(mebibytes())
for count in (1_000, 800, 900, 700):
    threads = [threading.Thread(target=lines_of_a_session, args=(count,)) for _ in range(4)]
    [it.start() for it in threads]
    [it.join() for it in threads]
freed_memory.give_back()
print(mebibytes())
""")
    assert after - before < 12


def test_threads_reserve_no_address_space_of_their_own() -> None:
    (reserved,) = printed("""
def reserved():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(it.split()[1]) for it in status if it.startswith("VmSize")) / 1024

freed_memory.limit()
threading.stack_size(1 << 20)
before = reserved()
ended = threading.Event()
threads = [threading.Thread(target=lambda: (lines_of_a_session(10), ended.wait())) for _ in range(8)]
[it.start() for it in threads]
print(reserved() - before)
ended.set()
""")
    assert reserved < 64


async def test_memory_of_large_answers_is_given_back_when_there_are_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[None] = []
    monkeypatch.setattr(freed_memory, "give_back", lambda: given.append(None))
    monkeypatch.setattr(server, "SWEEP_SECONDS", 0.01)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        await peer.call("server/status")
        await peer.call("session/list")
        await until(lambda: bool(given))
    assert len(given) == 1


def test_the_rules_take_no_memory_here_and_their_process_ends_when_nobody_uses_them() -> None:
    before, loaded, during, after = printed("""
import os
from pathlib import Path
from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.redaction.scanning_process import CACHE_VARIABLE

def children():
    return sum(len(it.read_text().split()) for it in Path("/proc/self/task").glob("*/children"))

freed_memory.limit()
keys = ProviderKeys(os.environ[CACHE_VARIABLE], kept_seconds=3.0)
print(mebibytes())
assert keys.load()
keys.find("nothing at all")
print(mebibytes())
print(children())
deadline = time.monotonic() + 60
while threading.active_count() > 1 and time.monotonic() < deadline:
    time.sleep(0.01)
print(children())
""")
    assert loaded - before < 8
    assert (during, after) == (1, 0)


def test_rules_that_were_unloaded_are_loaded_for_the_next_search() -> None:
    keys = ProviderKeys(os.environ[CACHE_VARIABLE], kept_seconds=0.0)
    secret = "dapi" + "0a1b2c3d" * 4
    for _ in range(3):
        assert secret not in Redactor(keys).text(f"the key {secret}\nand more", None)


def test_limits_that_cannot_be_set_yet_are_set_later() -> None:
    [loaded_first, loaded_then] = printed("""
sys.modules["ctypes"] = None  # importing it is refused, as on a Python that lacks it
freed_memory.limit()
freed_memory.give_back()
print(int(sys.modules["ctypes"] is not None))
del sys.modules["ctypes"]
freed_memory.limit()
print(int("ctypes" in sys.modules))
""")
    assert (loaded_first, loaded_then) == (0, 1)
