"""The share of generated secrets that redaction finds, its false alarms in ordinary text, and its cost."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

from scripts.benchmarks import held_secrets, second_held_secrets
from scripts.benchmarks.generated_secrets import Planted, placed, planted
from scripts.benchmarks.known_places import KNOWN, Place
from scripts.benchmarks.ordinary_lines import ordinary
from scripts.benchmarks.report import Row, at_least, at_most, sampled
from scripts.benchmarks.secret_values import Value, leaks
from scripts.benchmarks.unseen_places import UNSEEN

from sessiond.hub.redaction.provider_keys import ProviderKeys
from sessiond.hub.redaction.redactor import Redactor

SEED = 20
RECALL = 0.99
"""Share of keys of known shapes, and of the places that the first rules were written for."""
PLACES = 0.95
"""Share of secrets in the places of settings, code and commands."""
FALSE_LINES = 0.005
"""Share of ordinary lines that lose a part."""
FALSE_HITS_PER_MB = 1.0
ORDINARY = ("daemon/**/*.py", "daemon/**/*.md", "editors/**/src/**/*.ts", "editors/**/*.lua", "*.md")
"""Files of this project: code and prose like that of transcripts, with one invented token as the only secret."""
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
    found, count = _recall(Redactor(keys), planted(SEED, rounds))
    alone, _ = _recall(Redactor(), planted(SEED, rounds))
    hits, characters, seconds = _ordinary(keys, SMOKE_ORDINARY if quick else ORDINARY)
    megabytes = characters / 1e6
    return [
        Row(f"redaction: {count:,} generated secrets found", f"{found / count:.2%}", "", f">= {RECALL:.0%}",
            at_least(found / count, RECALL)),
        Row("the same without Kingfisher", f"{alone / count:.2%}"),
        *_places(keys, "rules were written for", KNOWN, rounds),
        *_places(keys, "were written before the rules", UNSEEN, rounds),
        *_false_lines(keys),
        *_held(keys, rounds),
        Row(f"false hits in {megabytes:.1f} MB of code and prose", str(hits), f"{hits / megabytes:.2f} a MB",
            "" if quick else f"<= {FALSE_HITS_PER_MB:.0f} a MB",
            "" if quick else at_most(hits / megabytes, FALSE_HITS_PER_MB)),
        sampled("processor time of redacting 1 MB", [seconds / megabytes], "s"),
        sampled("loading the rules for the first time", [first], "s"),
        sampled("  again", [again], "s"),
    ]  # fmt: skip


def _recall(redactor: Redactor, secrets: Iterable[Planted]) -> tuple[int, int]:
    hidden = [not leaks(secret.secret, redactor.text(secret.text, None)) for secret in secrets]
    return sum(hidden), len(hidden)


def _places(
    keys: ProviderKeys, which: str, kinds: Mapping[str, tuple[Value, Place]], rounds: int
) -> Iterator[Row]:
    """Yield the recall in places of these kinds, then each kind with missed secrets."""
    redactor = Redactor(keys)
    missed = Counter(
        secret.sort
        for secret in placed(kinds, SEED, rounds)
        if leaks(secret.secret, redactor.text(secret.text, None))
    )
    count = len(kinds) * rounds
    found = 1 - missed.total() / count
    yield Row(
        f"{count:,} secrets in {len(kinds)} kinds of places that {which}", f"{found:.2%}", "", f">= {PLACES:.0%}",
        at_least(found, PLACES),
    )  # fmt: skip
    for kind, times in missed.most_common():
        yield Row(f"  missed: {kind}", f"{times} of {rounds}")


_HELD: Final = ((held_secrets, "first 79.07%", "first 34"), (second_held_secrets, "first 98.00%", "first 0"))
"""The sets whose authors saw no rules, with the results from before the rules were changed because of them."""


def _held(keys: ProviderKeys, rounds: int) -> Iterator[Row]:
    """Yield recall and false lines of the sets whose authors saw no rules, and the kinds that miss a third."""
    for held, first_found, first_changed in _HELD:
        yield from _of_author(keys, rounds, held.KINDS, held.ordinary, first_found, first_changed)


def _of_author(
    keys: ProviderKeys,
    rounds: int,
    kinds: Mapping[str, Callable[[Random], tuple[str, list[str]]]],
    ordinary: Callable[[Random], str],
    first_found: str,
    first_changed: str,
) -> Iterator[Row]:
    redactor = Redactor(keys)
    missed: Counter[str] = Counter()
    for kind, make in kinds.items():
        for number in range(rounds):
            text, secrets = make(Random(f"0/{kind}/{number}"))
            clean = redactor.text(text, None)
            missed[kind] += any(secret in clean for secret in secrets)
    count = len(kinds) * rounds
    found = 1 - missed.total() / count
    yield Row(
        f"{count:,} texts of {len(kinds)} kinds by an author who saw no rules", f"{found:.2%}",
        first_found, f">= {PLACES:.0%}", at_least(found, PLACES),
    )  # fmt: skip
    for kind, times in missed.most_common():
        if times * 3 >= rounds:
            yield Row(f"  missed: {kind.replace('_', ' ')}", f"{times} of {rounds}")
    random = Random("0/ordinary")
    lines = [ordinary(random) for _ in range(1_000)]
    changed = sum(redactor.text(line, None) != line for line in lines)
    yield Row(
        "1,000 ordinary lines of that author that lose something", str(changed), first_changed,
        f"<= {FALSE_LINES:.1%}", at_most(changed / len(lines), FALSE_LINES),
    )  # fmt: skip


def _false_lines(keys: ProviderKeys) -> Iterator[Row]:
    redactor = Redactor(keys)
    lines = list(ordinary(SEED, 1_000))
    changed = [line for line in lines if redactor.text(line, None) != line]
    share = len(changed) / len(lines)
    yield Row(
        f"{len(lines):,} ordinary lines that lose something", str(len(changed)), f"{share:.1%}",
        f"<= {FALSE_LINES:.1%}", at_most(share, FALSE_LINES),
    )  # fmt: skip
    yield from (Row(f"  false: {text[:80]}", "1") for text in changed)


def _ordinary(keys: ProviderKeys, patterns: Sequence[str]) -> tuple[int, int, float]:
    root = Path(__file__).parents[2]
    texts = [path.read_text(encoding="utf-8") for pattern in patterns for path in sorted(root.glob(pattern))]
    redactor = Redactor(keys)
    began = time.process_time()
    for text in texts:
        redactor.text(text, None)
    return redactor.found.total(), sum(map(len, texts)), time.process_time() - began
