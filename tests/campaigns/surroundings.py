"""Odd environments, one function each: the daemon serves there all the same, or says in a sentence why not."""

import contextlib
import hashlib
import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import os
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from campaigns.campaign import hold

PATIENCE: Final = 120.0
NOBODY: Final = 65_534


def as_user(uid: int) -> tuple[str, ...]:
    """Return the words before a command that another user is to run. That user may read this Python."""
    return (
        "setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=+dac_read_search",
        "--ambient-caps=+dac_read_search", "--",
    )  # fmt: skip


@dataclass
class Spot:
    """An empty folder, and the environment of a person who has only that."""

    folder: Path
    uid: int = field(default_factory=os.geteuid)
    under: tuple[str, ...] = ()
    program: tuple[str, ...] = (sys.executable, "-P", "-m", "sessiond")
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(mode=0o700)
        self.home = self.folder / "home"
        self.home.mkdir(mode=0o700)
        self.environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}

    def owned_by(self, uid: int) -> "Spot":
        """The same, and its programs run as that user."""
        self.uid, self.under = uid, as_user(uid)
        self.folder.chmod(0o755)
        os.chown(self.home, uid, uid)
        return self

    @property
    def state(self) -> Path:
        return self.home / ".local/state/sessiond"

    def run(self, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*self.under, *self.program, *words], env={**self.environment, **more},
            cwd="/", stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=PATIENCE,
            check=False,
        )  # fmt: skip

    def serves(self, **more: str) -> dict[str, object]:
        """A command finds or starts a daemon here; what that says of itself."""
        made = self.run("new", "--cwd", "/w", **more)
        hold(made.returncode == 0, f"a session could not be made: {made.stderr}")
        told = self.run("status", "--json", **more)
        hold(told.returncode == 0, f"the daemon could not be asked: {told.stderr}")
        status = json.loads(told.stdout)
        assert isinstance(status, dict)
        return status

    def refuses(self, *names: object, **more: str) -> None:
        """A command fails in a line or two that name these, without a traceback, and leaves the folder as it was."""
        before = picture(self.folder)
        told = self.run("new", "--cwd", "/w", **more)
        hold(told.returncode in (69, 75, 78), f"it ended with {told.returncode}: {told.stdout}{told.stderr}")
        hold("Traceback" not in told.stderr, f"it failed with {told.stderr}")
        for name in names:
            hold(str(name) in told.stderr, f"{name} is not named: {told.stderr}")
        changed = before.items() - picture(self.folder).items()
        hold(not changed, f"it changed {sorted(text for text, _ in changed)}")

    def stops(self, **more: str) -> None:
        self.run("stop", **more)


def picture(folder: Path) -> dict[str, str]:
    """Everything below a folder but logs and locks: mode, owner and what is in it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.name in ("sessiond.log", "start.lock", "daemon.lock"):
            continue
        row = path.lstat()
        if path.is_symlink():
            what = str(path.readlink())
        elif path.is_file():
            what = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            what = ""
        found[str(path)] = f"{row.st_mode:o} {row.st_uid} {what}"
    return found


# --- the runtime folder ------------------------------------------------------------------------------------


def without_a_runtime_folder(spot: Spot) -> None:
    """Two shells that differ in XDG_RUNTIME_DIR and TMPDIR find one daemon."""
    first = spot.serves()
    for more in ({"TMPDIR": "/nowhere"}, {"XDG_RUNTIME_DIR": "/nowhere"}, {"XDG_RUNTIME_DIR": "relative"}):
        hold(spot.serves(**more)["epoch"] == first["epoch"], f"{more} leads to another daemon")
    private = spot.folder / "run"
    private.mkdir(mode=0o700)
    os.chown(private, spot.uid, -1)
    hold(spot.serves(XDG_RUNTIME_DIR=str(private))["epoch"] == first["epoch"], "two shells have two daemons")


def with_a_runtime_folder_that_is_none(spot: Spot) -> None:
    """One that is missing, a file, or open to others is not used, and does no harm."""
    open_to_all, file = spot.folder / "open", spot.folder / "file"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    file.touch()
    for path in (spot.folder / "missing", open_to_all, file):
        told = spot.serves(XDG_RUNTIME_DIR=str(path))
        hold(not str(told["socket"]).startswith(str(path)), f"{told['socket']} is in a folder that is none")
        spot.stops(XDG_RUNTIME_DIR=str(path))


def after_a_logout(spot: Spot) -> None:
    """The runtime folder went with the last login; the daemon is found again by whoever comes next."""
    private = spot.folder / "run"
    private.mkdir(mode=0o700)
    os.chown(private, spot.uid, -1)
    more = {"XDG_RUNTIME_DIR": str(private)}
    first = spot.serves(**more)
    Path(str(first["socket"])).parent.rename(spot.folder / "gone")  # at once: the daemon may look just then
    hold(spot.serves(**more)["epoch"] == first["epoch"], "another daemon was started beside the first")


# --- paths -------------------------------------------------------------------------------------------------


def with_a_path_too_long_for_a_socket(spot: Spot) -> None:
    deep = spot.folder / ("x" * 120)
    deep.mkdir(mode=0o700)
    os.chown(deep, spot.uid, -1)
    told = spot.serves(SESSIOND_HOME=str(deep))
    hold(len(os.fsencode(str(told["socket"]))) <= 100, f"{told['socket']} is too long")
    spot.stops(SESSIOND_HOME=str(deep))
    with contextlib.suppress(OSError):
        Path(str(told["socket"])).parent.rmdir()


def with_odd_characters_in_every_path(spot: Spot) -> None:
    odd = spot.home / "a b\tc'\"$HOME;é%n"
    told = spot.serves(SESSIOND_HOME=str(odd), LC_ALL="C")
    hold(told["home"] == str(odd), f"{told['home']} is not {odd}")


def installed_in_an_odd_path(spot: Spot) -> None:
    """The wheel, installed by pip into an environment whose path has spaces and other letters, starts its daemon."""
    tree, venv = Path(__file__).resolve().parents[2], spot.folder / "Ada's  Größe 日本"
    wheels = spot.folder / "wheels"
    for words in (
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)],
        [sys.executable, "-m", "venv", str(venv)],
    ):
        made = subprocess.run(
            words, cwd=tree, capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False
        )
        hold(made.returncode == 0, f"{words} failed: {made.stderr}")
    python = venv / "bin/python"
    [packages] = (venv / "lib").glob("python*/site-packages")
    # The packages that sessiond needs come from this environment, without a network.
    (packages / "further.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    [wheel] = wheels.iterdir()
    words = [
        str(python),
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--ignore-installed",
        str(wheel),
    ]
    made = subprocess.run(
        words, cwd="/", capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False
    )
    hold(made.returncode == 0, f"pip failed: {made.stderr}")
    spot.program = (str(venv / "bin/sessiond"),)
    spot.serves()
    service = spot.run("install-service", "--print")
    hold(
        str(python) in service.stdout, f"the service does not name {python}: {service.stdout}{service.stderr}"
    )
    spot.stops()


def with_hardly_any_environment(spot: Spot) -> None:
    """No HOME, no PATH, no locale: the password file says where home is, if there is one that is ours."""
    spot.environment = {"SESSIOND_HOME": str(spot.home / "all")}
    spot.serves()


def with_a_umask_that_takes_everything(spot: Spot) -> None:
    before = os.umask(0o777)
    try:
        told = spot.serves()
    finally:
        os.umask(before)
    socket_file = Path(str(told["socket"]))
    hold(socket_file.stat().st_mode & 0o777 == 0o600, f"{socket_file} has other rights")


def without_standard_streams(spot: Spot) -> None:
    shell = f'exec "{sys.executable}" -P -m sessiond new --cwd /w <&- >&- 2>&-'
    done = subprocess.run(
        ["/bin/sh", "-c", shell], env=spot.environment, cwd="/", timeout=PATIENCE, check=False
    )
    hold(done.returncode in (0, 141), f"it ended with {done.returncode}")
    spot.serves()


def behind_a_pipe_that_waits_for_all(spot: Spot) -> None:
    """A command that starts the daemon ends when it is done, though the daemon goes on."""
    shell = f'"{sys.executable}" -P -m sessiond new --cwd /w 2>&1 | cat'
    subprocess.run(
        ["/bin/sh", "-c", shell], env=spot.environment, cwd="/", timeout=PATIENCE, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    spot.serves()


# --- what is in the way ------------------------------------------------------------------------------------


def with_a_file_where_the_socket_goes(spot: Spot) -> None:
    runtime = spot.state / "run"
    runtime.mkdir(parents=True, mode=0o700)
    (runtime / "sessiond.sock").write_text("a diary", encoding="utf-8")
    _close_folders(spot)
    spot.refuses(runtime / "sessiond.sock")


def with_a_link_where_the_socket_goes(spot: Spot) -> None:
    runtime = spot.state / "run"
    runtime.mkdir(parents=True, mode=0o700)
    (spot.folder / "precious").write_text("a diary", encoding="utf-8")
    (runtime / "sessiond.sock").symlink_to(spot.folder / "precious")
    _close_folders(spot)
    spot.refuses(runtime / "sessiond.sock")


def with_links_instead_of_folders(spot: Spot) -> None:
    elsewhere = spot.folder / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    spot.state.parent.mkdir(parents=True, mode=0o700)
    spot.state.symlink_to(elsewhere)
    spot.refuses(spot.state)


def with_links_instead_of_files(spot: Spot) -> None:
    spot.state.mkdir(parents=True, mode=0o700)
    _close_folders(spot)
    for name in ("daemon.lock", "start.lock"):
        _link_to_a_diary(spot, name)
        spot.refuses(spot.state / name)
        _hold_untouched(spot, name)
        (spot.state / name).unlink()
    # Without a log sessions are served all the same.
    _link_to_a_diary(spot, "sessiond.log")
    spot.serves()
    spot.stops()
    _hold_untouched(spot, "sessiond.log")


def _link_to_a_diary(spot: Spot, name: str) -> None:
    (spot.folder / name).write_text("a diary", encoding="utf-8")
    (spot.state / name).unlink(missing_ok=True)
    (spot.state / name).symlink_to(spot.folder / name)


def _hold_untouched(spot: Spot, name: str) -> None:
    hold((spot.state / name).is_symlink(), f"the link {name} is gone")
    hold((spot.folder / name).read_text(encoding="utf-8") == "a diary", f"{name} was written through a link")


def with_a_folder_that_others_may_write_to(spot: Spot) -> None:
    spot.state.mkdir(parents=True, mode=0o700)
    spot.state.chmod(0o777)
    spot.refuses(spot.state, "chmod 700")


def with_a_lock_that_others_may_open(spot: Spot) -> None:
    spot.state.mkdir(parents=True, mode=0o700)
    _close_folders(spot)
    lock = spot.state / "daemon.lock"
    lock.touch(mode=0o666)
    lock.chmod(0o666)
    spot.refuses(lock, "chmod 600")


def with_a_wrong_configuration(spot: Spot) -> None:
    config = spot.home / ".config/sessiond"
    config.mkdir(parents=True, mode=0o700)
    (config / "config.toml").write_text('[listen]\ntcp = "0.0.0.0:1"\n', encoding="utf-8")
    spot.refuses(config / "config.toml", "127.0.0.1")


def with_another_program_at_the_socket(spot: Spot) -> None:
    """It listens where the daemon would: nothing of it is taken away, and it is not trusted with a word."""
    runtime = spot.state / "run"
    runtime.mkdir(parents=True, mode=0o700)
    _close_folders(spot)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(runtime / "sessiond.sock"))
        other.listen(8)
        told = spot.run("serve")
        hold(told.returncode == 73, f"the daemon ended with {told.returncode}: {told.stderr}")
        hold(str(runtime / "sessiond.sock") in told.stderr, f"it does not say where: {told.stderr}")
        hold((runtime / "sessiond.sock").is_socket(), "the other's socket is gone")


def with_the_pid_of_somebody_else_in_the_endpoint(spot: Spot) -> None:
    """A daemon died, and its pid is another's: nobody is signaled, and the next daemon starts."""
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    ) as bystander:
        told = spot.serves()
        spot.stops()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        lie = {
            "socket": told["socket"], "epoch": "x", "bootId": boot, "pid": bystander.pid, "startTime": 1,
            "build": "0", "protocol": [1, 1],
        }  # fmt: skip
        (spot.state / "endpoint.json").write_text(json.dumps(lie), encoding="utf-8")
        spot.serves()
        hold(bystander.poll() is None, "the bystander was hit")
        bystander.kill()


# --- other users (only root can be them) -------------------------------------------------------------------


def with_a_home_that_cannot_be_written(spot: Spot) -> None:
    spot.owned_by(NOBODY)
    os.chown(spot.home, 0, 0)
    spot.home.chmod(0o755)
    spot.refuses(spot.home / ".local")


def with_the_home_of_somebody_else(spot: Spot) -> None:
    """As under `sudo -u`, which keeps HOME: the folders of one person are none of another."""
    spot.serves()
    stranger = Spot(spot.folder / "stranger")
    stranger.owned_by(NOBODY)
    stranger.environment["HOME"] = str(spot.home)
    for folder in (spot.folder, spot.home, spot.home / ".local", spot.home / ".local/state", spot.state):
        folder.chmod(0o755)
    told = stranger.run("new", "--cwd", "/w")
    hold(told.returncode == 69, f"it ended with {told.returncode}: {told.stderr}")
    hold("Traceback" not in told.stderr, f"it failed with {told.stderr}")
    hold(str(spot.home) in told.stderr, f"it does not say where: {told.stderr}")


def with_the_socket_of_somebody_else(spot: Spot) -> None:
    """He waits where the daemon was, to be told what people type: not a word."""
    runtime = spot.state / "run"
    runtime.mkdir(parents=True, mode=0o700)
    _close_folders(spot)
    path = runtime / "sessiond.sock"
    serve = (
        "import os, socket, sys; folder = sys.argv[1]; os.chdir(folder); os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX); s.bind('sessiond.sock'); s.listen(8); print('READY', flush=True)\n"
        "c, _ = s.accept(); c.settimeout(60); print(len(c.recv(100)), flush=True)\n"
    )
    runtime.chmod(0o777)
    with subprocess.Popen([sys.executable, "-c", serve, str(runtime)], stdout=subprocess.PIPE) as stranger:
        assert stranger.stdout is not None
        hold(stranger.stdout.readline() == b"READY\n", "nobody listens")
        runtime.chmod(0o700)
        told = spot.run("new", "--cwd", "/w")
        heard = stranger.stdout.readline()
        stranger.kill()
    hold(told.returncode == 69, f"it ended with {told.returncode}: {told.stderr}")
    hold(str(path) in told.stderr and str(NOBODY) in told.stderr, f"it does not say who: {told.stderr}")
    hold(heard == b"0\n", f"the stranger was told {heard!r} bytes")


def with_a_runtime_folder_of_somebody_else(spot: Spot) -> None:
    """Where the path is too long the socket lies in /tmp, and there anybody may have made the folder first."""
    deep = spot.folder / ("x" * 120)
    deep.mkdir(mode=0o700)
    spot.environment["SESSIOND_HOME"] = str(deep)
    told = spot.serves()
    folder = Path(str(told["socket"])).parent
    spot.stops()
    if not folder.is_relative_to("/tmp"):
        return  # the machine has a runtime folder of this user's, so that nobody else can be there
    folder.rmdir()
    folder.mkdir(mode=0o755)
    os.chown(folder, NOBODY, NOBODY)
    try:
        spot.refuses(folder)
        hold(folder.stat().st_uid == NOBODY, "the folder changed hands")
    finally:
        folder.rmdir()


def as_two_people(spot: Spot) -> None:
    """Each has a daemon of his own."""
    first = spot.serves()
    other = Spot(spot.folder / "other")
    spot.folder.chmod(0o755)
    other.owned_by(NOBODY)
    second = other.serves()
    hold(first["pid"] != second["pid"], "they share a daemon")
    other.stops()


def _close_folders(spot: Spot) -> None:
    for folder in (spot.state, spot.state / "run"):
        if folder.exists():
            folder.chmod(0o700)


ANYBODY: Final[tuple[Callable[[Spot], None], ...]] = (
    without_a_runtime_folder, with_a_runtime_folder_that_is_none, after_a_logout,
    with_a_path_too_long_for_a_socket, with_odd_characters_in_every_path, installed_in_an_odd_path,
    with_hardly_any_environment,
    with_a_umask_that_takes_everything, without_standard_streams, behind_a_pipe_that_waits_for_all,
    with_a_file_where_the_socket_goes, with_a_link_where_the_socket_goes, with_links_instead_of_folders,
    with_links_instead_of_files, with_a_folder_that_others_may_write_to, with_a_lock_that_others_may_open,
    with_a_wrong_configuration, with_another_program_at_the_socket,
    with_the_pid_of_somebody_else_in_the_endpoint,
)  # fmt: skip

ONLY_ROOT: Final[tuple[Callable[[Spot], None], ...]] = (
    with_a_home_that_cannot_be_written, with_the_home_of_somebody_else, with_the_socket_of_somebody_else,
    with_a_runtime_folder_of_somebody_else, as_two_people,
)  # fmt: skip
