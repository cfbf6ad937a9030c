"""The number of small synced appends that the disk can do when every writer has its own file.

`python -m scripts.benchmarks.disk_limit FOLDER WRITERS COUNT LINE_BYTES WORKERS` prints the appends per second of all
writers together. With `processes`, each writer is a process, so that no lock of an interpreter is part of the limit.
With `threads`, one event loop gives each append to a thread, as any asyncio program must.
"""

import asyncio
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

Workers = Literal["processes", "threads"]


def appends_per_second(folder: Path, workers: Workers, *, writers: int, count: int, line_bytes: int) -> float:
    """Measure the limit in a process of its own, which has no threads and so may fork."""
    command = [sys.executable, "-m", "scripts.benchmarks.disk_limit"]
    command += [str(folder), str(writers), str(count), str(line_bytes), workers]
    return float(subprocess.run(command, check=True, capture_output=True, encoding="ascii").stdout)


def _rate(folder: Path, writers: int, count: int, line_bytes: int) -> float:
    go, start = os.pipe()
    children = []
    for number in range(writers):
        child = os.fork()
        if not child:
            os.close(start)
            _write(folder / f"disk-limit-{number}", go, count, b"x" * (line_bytes - 1) + b"\n")
            os._exit(0)
        children.append(child)
    os.close(go)
    time.sleep(0.2)  # until every writer waits; a writer that does not wait yet would only lower the limit
    began = time.perf_counter()
    os.close(start)
    for child in children:
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise SystemExit("a writer failed")
    return writers * count / (time.perf_counter() - began)


def _write(path: Path, go: int, count: int, line: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(file, line)
    os.fsync(file)  # a file that exists, as that of a session does
    os.read(go, 1)  # ends when the parent closes its side
    for _ in range(count):
        os.write(file, line)
        os.fdatasync(file)
    path.unlink()


async def _rate_of_threads(folder: Path, writers: int, count: int, line_bytes: int) -> float:
    line = b"x" * (line_bytes - 1) + b"\n"
    loop = asyncio.get_running_loop()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    paths = [folder / f"disk-limit-{number}" for number in range(writers)]
    files = [os.open(path, flags, 0o600) for path in paths]
    for file in files:
        os.write(file, line)
        os.fsync(file)

    def append(file: int) -> None:
        os.write(file, line)
        os.fdatasync(file)

    async def write(file: int) -> None:
        for _ in range(count):
            await loop.run_in_executor(pool, append, file)

    with ThreadPoolExecutor(writers) as pool:
        began = time.perf_counter()
        await asyncio.gather(*map(write, files))
        took = time.perf_counter() - began
    for path in paths:
        path.unlink()
    return writers * count / took


def main() -> None:
    folder, (writers, count, line_bytes) = Path(sys.argv[1]), map(int, sys.argv[2:5])
    if sys.argv[5] == "threads":
        print(asyncio.run(_rate_of_threads(folder, writers, count, line_bytes)))
    else:
        print(_rate(folder, writers, count, line_bytes))


if __name__ == "__main__":
    main()
