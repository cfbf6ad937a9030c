"""The share of generated secrets that redaction finds, its false alarms in ordinary text, and its cost."""

import time
from collections.abc import Sequence
from pathlib import Path

from scripts.benchmarks.generated_secrets import leaks, planted
from scripts.benchmarks.report import Row, at_least, at_most, sampled

from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.redaction.redactor import Redactor

SEED = 20
RECALL = 0.99
FALSE_HITS_PER_MB = 1.0
ORDINARY = ("daemon/**/*.py", "daemon/**/*.md", "editors/**/src/**/*.ts", "editors/**/*.lua", "*.md")
"""Files of this project: code and prose of the kind that transcripts hold, and no secret but one made-up token."""
SMOKE_ORDINARY = ("daemon/*.md", "*.md")


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Recall over generated secrets with and without Kingfisher, false hits and time over ordinary text."""
    keys = ProviderKeys(str(folder / "rules"))
    began = time.perf_counter()
    keys.load()
    first = time.perf_counter() - began
    began = time.perf_counter()
    ProviderKeys(str(folder / "rules")).load()
    again = time.perf_counter() - began
    rounds = 1 if quick else 20
    found, count = _recall(Redactor(keys), rounds)
    alone, _ = _recall(Redactor(), rounds)
    hits, characters, seconds = _ordinary(keys, SMOKE_ORDINARY if quick else ORDINARY)
    megabytes = characters / 1e6
    return [
        Row(f"redaction: {count:,} generated secrets found", f"{found / count:.2%}", "", f">= {RECALL:.0%}",
            at_least(found / count, RECALL)),
        Row("the same without Kingfisher", f"{alone / count:.2%}"),
        Row(f"false hits in {megabytes:.1f} MB of code and prose", str(hits), f"{hits / megabytes:.2f} a MB",
            "" if quick else f"<= {FALSE_HITS_PER_MB:.0f} a MB",
            "" if quick else at_most(hits / megabytes, FALSE_HITS_PER_MB)),
        sampled("processor time of redacting 1 MB", [seconds / megabytes], "s"),
        sampled("loading the rules for the first time", [first], "s"),
        sampled("  again", [again], "s"),
    ]  # fmt: skip


def _recall(redactor: Redactor, rounds: int) -> tuple[int, int]:
    hidden = [not leaks(it.secret, redactor.text(it.text, None)) for it in planted(SEED, rounds)]
    return sum(hidden), len(hidden)


def _ordinary(keys: ProviderKeys, patterns: Sequence[str]) -> tuple[int, int, float]:
    root = Path(__file__).parents[2]
    texts = [path.read_text(encoding="utf-8") for pattern in patterns for path in sorted(root.glob(pattern))]
    redactor = Redactor(keys)
    began = time.process_time()
    for text in texts:
        redactor.text(text, None)
    return redactor.found.total(), sum(map(len, texts)), time.process_time() - began
