"""A file system in a file, whose power can be cut: mounted through a loop device, shut down by an ioctl.

Needs root, loop devices and mounts. Everything that was set up is taken down again, also the rest of an earlier run
that was killed.
"""

import contextlib
import fcntl
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

from campaigns.campaign import Broken, CannotBeDone, Ground, hold
from campaigns.daemons import until

_SHUTDOWN = 0x8004587D  # FS_IOC_SHUTDOWN of ext4, the same number as XFS_IOC_GOINGDOWN
_WITHOUT_FLUSH = 2  # neither data nor the journal's last part are written: the power is gone
_MEGABYTES = {"ext4": 64, "xfs": 320}  # XFS has a least size
_OURS = re.compile(r"/sdc-[^/ ]+/power-[a-z0-9]+(\.img|$)")


class LoopDisk:
    """A mounted file system at `folder`."""

    def __init__(self, image: Path, kind: str, folder: Path) -> None:
        self.folder = folder
        self.kind = kind
        self._image = image
        self._device = ""

    def attach(self) -> None:
        self._device = _output("losetup", "--find", "--show", str(self._image))
        self.mount()

    def mount(self) -> None:
        _output("mount", "-t", self.kind, self._device, str(self.folder))

    def cut(self) -> None:
        """The power goes: what was not synced is lost, and every call fails from now on."""
        fd = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, _SHUTDOWN, struct.pack("I", _WITHOUT_FLUSH))
        finally:
            os.close(fd)

    def unmount(self) -> None:
        """Unmount, and see that it is: a process that just then copied its namespace holds a mount of its own,
        and who mounts again would get that one, without power."""
        until(lambda: _succeeds("umount", str(self.folder)), f"{self.folder} cannot be unmounted")
        try:
            until(self._is_free, f"{self._device} is held")
        except Broken as error:
            raise CannotBeDone("another namespace holds on to the file system that was unmounted") from error

    def _is_free(self) -> bool:
        try:
            os.close(os.open(self._device, os.O_RDONLY | os.O_EXCL))  # refused while it is mounted anywhere
        except OSError:
            return False
        return True

    def take_down(self) -> None:
        _succeeds("umount", "--lazy", str(self.folder))
        if self._device:
            _succeeds("losetup", "--detach", self._device)


@contextlib.contextmanager
def loop_disk(ground: Ground, kind: str) -> Iterator[LoopDisk]:
    """A new file system of this kind, mounted. Ends the campaign where the machine does not allow it."""
    for tool in (f"mkfs.{kind}", "losetup", "mount", "umount"):
        if _found(tool) is None:
            ground.leave_out(tool)
    folder = ground.folder / f"power-{kind}"
    image = folder.with_suffix(".img")
    folder.mkdir()
    disk = LoopDisk(image, kind, folder)
    with image.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as long as we live, which others see by it
        file.truncate(_MEGABYTES[kind] << 20)
        try:
            try:
                _take_down_leftovers()
                _output(f"mkfs.{kind}", "-q", str(image))
                disk.attach()
            except subprocess.CalledProcessError as error:
                ground.cannot(f"{' '.join(error.cmd[:1])}: {error.stderr.decode(errors='replace').strip()}")
            yield disk
        finally:
            disk.take_down()
            image.unlink()


def _take_down_leftovers() -> None:
    """Unmount and detach what a run left that was killed."""
    for line in Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines():
        folder = line.split()[1]
        if _OURS.search(folder) and _is_left(f"{folder}.img"):
            _succeeds("umount", "--lazy", folder)
    for line in _output("losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE").splitlines():
        device, _, image = line.partition(" ")
        if _OURS.search(image) and _is_left(image.strip()):
            _succeeds("losetup", "--detach", device)


def _is_left(image: str) -> bool:
    """Whether nobody holds an image any more. Process ids do not tell: other namespaces have others."""
    try:
        with open(image.removesuffix(" (deleted)"), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _found(tool: str) -> str | None:
    """Where a tool for root is: often not on the path, even of root."""
    return shutil.which(tool, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _output(tool: str, *words: str) -> str:
    command = [_found(tool) or tool, *words]
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=True)
    return done.stdout.decode().strip()


def _succeeds(tool: str, *words: str) -> bool:
    try:
        _output(tool, *words)
    except subprocess.CalledProcessError:
        return False
    return True


def try_cut(ground: Ground, disk: LoopDisk) -> None:
    """End the campaign where this kernel cannot shut the file system down."""
    (disk.folder / "lost").write_bytes(b"x" * 10_000)
    try:
        disk.cut()
    except OSError as error:
        ground.cannot(f"{disk.kind} cannot be shut down here: {error.strerror}")
    disk.unmount()
    disk.mount()
    there = disk.folder / "lost"
    hold(
        not there.exists() or there.read_bytes() != b"x" * 10_000,
        "a cut has lost nothing that was not synced",
    )
