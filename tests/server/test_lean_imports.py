"""An idle daemon loads only what it uses: each module stays in memory for weeks (decision 0031)."""

import subprocess
import sys
from pathlib import Path

UNUSED = {
    "_hashlib", "_ssl", "anyio", "asyncpg", "calendar", "cattrs", "ctypes", "difflib", "logging.handlers",
    "lsprotocol", "pickle", "pygls", "pygments", "rich", "secrets", "sessiond.store.postgres", "ssl",
    "textual", "tomlkit", "typing_extensions", "watchfiles.main",
}  # fmt: skip

PROGRAM = """
import sys
from sessiond.cli.commands.serve import _prepare_imports
_prepare_imports()
import asyncio
from sessiond import config, paths
from sessiond.server.process import main

async def build():
    locations = paths.find_locations({"SESSIOND_HOME": sys.argv[1]})
    for folder in (locations.state, locations.data, locations.runtime):
        paths.make_private(folder)
    await main.build(locations, config.Config())
    print(*sys.modules)

asyncio.run(build())
"""


def output_of(program: str, *arguments: str) -> str:
    # -S: what the site packages of this machine load at the start is not ours.
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout


def test_a_daemon_without_clients_loads_no_module_that_only_some_requests_need(tmp_path: Path) -> None:
    loaded = set(output_of(PROGRAM, str(tmp_path)).split())
    assert "sessiond.hub.hub" in loaded
    assert loaded & UNUSED == set()
    assert not {
        name for name in loaded if name.startswith(("sessiond.server.lsp", "sessiond.session.formats.from_"))
    }


def test_a_daemon_of_a_database_without_the_driver_says_what_to_install(tmp_path: Path) -> None:
    program = """
import asyncio, sys
sys.modules["asyncpg"] = None  # as if it were not installed
from sessiond import config, paths
from sessiond.server.process import main
locations = paths.find_locations({"SESSIOND_HOME": sys.argv[1]})
try:
    asyncio.run(main.build(locations, config.Config(store=config.StoreConfig("postgres:///d"))))
except main.CannotServe as error:
    print(error.status, error)
"""
    said = output_of(program, str(tmp_path))
    assert said.startswith("78 ")
    assert "sessiond[postgres]" in said


def test_openssl_can_be_imported_later() -> None:
    program = """
from sessiond.lean_imports import import_without_openssl
import_without_openssl()
import asyncio, hashlib, sys
assert "ssl" not in sys.modules and "_hashlib" not in sys.modules
from sessiond.hashing import LARGE_BYTES, sha256_of, sha256_of_large
small, large = b"x", b"x" * LARGE_BYTES
assert sha256_of(small).digest() == hashlib.sha256(small).digest()
assert "_hashlib" not in sys.modules
assert sha256_of(large).digest() == sha256_of_large(large).digest() == hashlib.sha256(large).digest()
import ssl
print(ssl.OPENSSL_VERSION_NUMBER > 0, hashlib.blake2b(b"x", digest_size=16).hexdigest() != "")
"""
    assert output_of(program).split() == ["True", "True"]


def test_the_types_of_lsp_have_no_methods_that_nothing_calls() -> None:
    program = """
from sessiond.server.lsp.compact_types import load_types
load_types()
import linecache, attrs
from lsprotocol import converters, types
location = {"uri": "file:///a", "range": {"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}}}
converter = converters.get_converter()
found = converter.structure(location, types.Location)
print(found.range == types.Range(types.Position(1, 2), types.Position(3, 4)), "__eq__" in vars(types.Hover))
sources = [it for it in linecache.cache if it.startswith("<attrs generated methods lsprotocol")]
print(converter.unstructure(found) == location, sources)

@attrs.define
class Other:
    value: int

print(Other(1) == Other(1), repr(Other(1)))
"""
    assert output_of(program).splitlines() == ["True False", "True []", "True Other(value=1)"]
