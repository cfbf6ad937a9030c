"""Bytes that nobody would send: to the framing, to the decoding of messages and params, and to the reading of logs."""

import importlib.util
import json  # noqa: TID251  (it writes what msgspec would not: NaN, and lone surrogates)
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import hypothesis
from hypothesis import HealthCheck, strategies as st

from campaigns.campaign import Broken, Campaign, Figures, Ground
from campaigns.fuzz_targets import TARGETS, kept, seeds

_TESTS: Final = Path(__file__).parents[1]
"""Where Python finds this package."""
_TOKENS: Final = (
    b"\n", b"\r\n\r\n", b"Content-Length: ", b"-1", b"99999999999", b"\0", b"\xff", b"\xe2\x80\xa8", b"\\ud800", b'"',
    b"{", b"}", b"[" * 60, b"null", b"1e999", b'"id":', b'"parentId":null', b'"type":"session"', b'"type":"leaf"',
    b'"version":1', b'"firstKeptEntryId":"a"', b'"a"',
)  # fmt: skip


def wage(ground: Ground) -> Figures:
    """Each target: what once failed, then mutations of good input and shaped texts, then atheris."""
    checked = tried = executed = 0
    for name in TARGETS:
        for number, data in enumerate(kept(name)):
            _try(name, data, f"kept input {number}")
        count = 40_000 if ground.long else 1_500
        chance = random.Random(f"{ground.seed} {name}")
        for data in _mutations(chance, seeds(name), count):
            _try(name, data, "a mutation")
            tried += len(data)
        checked += count + _shaped(ground, name)
        executed += _under_atheris(ground, name)
        ground.progress(f"{name}: {count} mutations, {executed} runs under atheris so far")
    return Figures(
        rounds=len(TARGETS),
        tried=tried,
        checked=checked + executed,
        more=f"{executed} of them led by atheris",
    )


def _try(name: str, data: bytes, what: str) -> None:
    try:
        TARGETS[name](data)
    except Exception as error:
        raise Broken(
            f"{name}: {what} of {len(data)} bytes raises {type(error).__name__}: {error}. Keep it as a file in "
            f"tests/data/fuzz/{name}: bytes.fromhex({data.hex()!r:.4000})"
        ) from error


def _mutations(chance: random.Random, good: list[bytes], count: int) -> Iterator[bytes]:
    for _ in range(count):
        data = bytearray(chance.choice(good))
        for _ in range(chance.randint(1, 6)):
            at = chance.randint(0, len(data))
            match chance.randrange(6):
                case 0:
                    data[at : at + 1] = bytes([chance.randrange(256)])
                case 1:
                    data[at:at] = chance.choice(_TOKENS)
                case 2:
                    del data[at : at + chance.randint(1, 40)]
                case 3:
                    other = chance.choice(good)
                    start = chance.randint(0, len(other))
                    data[at:at] = other[start : start + chance.randint(1, 200)]
                case 4:
                    data[at : at + 8] = data[at : at + 8] * chance.randint(2, 5)
                case _:
                    del data[at:]
        yield bytes(data[:8_192])


def _shaped(ground: Ground, name: str) -> int:
    """Hypothesis: objects and lines with the names that mean something, in all the wrong places."""
    count = 5_000 if ground.long else 150
    names = st.sampled_from([
        "jsonrpc", "id", "method", "params", "type", "parentId", "targetId", "message", "role", "content", "version",
        "sessionId", "entries", "firstKeptEntryId", "label", "cwd", "timestamp", "limit", "after",
    ])  # fmt: skip
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
        | st.sampled_from(["session", "message", "compaction", "leaf", "label", "custom", "user", "2.0", "a", "b"]),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=6), max_leaves=12,
    )  # fmt: skip
    lines = st.lists(
        st.dictionaries(names, values, max_size=8).map(_written) | st.binary(max_size=30), max_size=8
    )

    @hypothesis.seed(ground.seed)
    @hypothesis.settings(
        max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @hypothesis.given(st.binary(min_size=1, max_size=1), lines)
    def check(first: bytes, rows: list[bytes]) -> None:
        data = b"\n".join(rows)
        TARGETS[name](data if name == "message" else first + data)

    try:
        check()
    except Exception as error:
        raise Broken(f"{name}: a shaped text raises {error!r}: {getattr(error, '__notes__', '')}") from error
    return count


def _written(value: object) -> bytes:
    return json.dumps(value).encode()


def _under_atheris(ground: Ground, name: str) -> int:
    """libFuzzer, led by what the code does with its input; how many inputs were tried."""
    if importlib.util.find_spec("atheris") is None:
        ground.cannot_partly("atheris has no build for this Python or machine")
        return 0
    folder = ground.folder / name
    corpus, found = folder / "corpus", folder / "found"
    for each in (corpus, found):
        each.mkdir(parents=True)
    for number, data in enumerate(seeds(name)):
        (corpus / f"seed-{number}").write_bytes(data)
    minutes = ground.minutes or 60.0
    limits = [f"-max_total_time={minutes * 60 / len(TARGETS):.0f}"] if ground.long else ["-runs=3000"]
    done = subprocess.run(
        [
            sys.executable, "-P", "-m", "campaigns.fuzz_atheris", name, str(corpus),
            f"-seed={ground.seed % 2**31 or 1}", "-max_len=4096", "-timeout=120", "-rss_limit_mb=4096",
            "-print_final_stats=1", f"-artifact_prefix={found}/", *limits,
        ],
        env=_environment(), cwd=_TESTS, stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    said = done.stderr.decode(errors="replace") + done.stdout.decode(errors="replace")
    inputs = sorted(found.iterdir())
    if done.returncode or inputs:
        data = inputs[0].read_bytes() if inputs else b""
        raise Broken(
            f"{name}: atheris found {len(data)} bytes. Keep them as a file in tests/data/fuzz/{name}: "
            f"bytes.fromhex({data.hex()!r:.4000})\n{said[-3000:]}"
        )
    executed = re.search(r"number_of_executed_units:\s*([0-9]+)", said)
    return int(executed[1]) if executed else 0


def _environment() -> dict[str, str]:
    paths = filter(None, (str(_TESTS), os.environ.get("PYTHONPATH")))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


CAMPAIGN = Campaign(
    name="fuzz",
    promise="No bytes break what reads them: not the framing, not messages, not params, not logs, plain or packed.",
    how="mutations of good input from a seed, texts that hypothesis shapes, and inputs that atheris finds by what the "
    "code does with them; however they are cut the same must come out, or a typed refusal; what once failed is kept "
    "and tried first",
    run=wage,
)
