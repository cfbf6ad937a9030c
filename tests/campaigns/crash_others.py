"""Kill -9 at random moments of everything that is more than an append."""

import threading
import time

from campaigns.campaign import Campaign, Figures, Ground
from campaigns.nursery import nursery
from campaigns.rehearsal import Rehearsal, died
from campaigns.victims import VICTIMS, Victim


def run(ground: Ground) -> Figures:
    rounds = deaths = unanswered = 0
    with nursery() as nurse:
        rehearsal = Rehearsal(ground.folder, nurse)
        lasts: dict[str, float] = {}
        for number in ground.each_round(short=3 * len(VICTIMS), long=10_000, seconds=20):
            victim = VICTIMS[number % len(VICTIMS)]
            if victim.name not in lasts:
                lasts[victim.name] = _seconds_of(rehearsal, victim)
            pid = rehearsal.begin(victim)
            after = ground.chance(number).random() * 1.1 * lasts[victim.name]
            killing = threading.Timer(after, rehearsal.home.kill)
            killing.start()
            acknowledged = rehearsal.act(victim, pid)
            killing.join()
            deaths += died(victim, pid, acknowledged)
            unanswered += not acknowledged
            rehearsal.check(victim, acknowledged, f"after {after * 1000:.1f} ms")
            rounds += 1
    return Figures(rounds, faults=deaths, checked=rounds, more=f"{unanswered:,} deaths before the answer")


def _seconds_of(rehearsal: Rehearsal, victim: Victim) -> float:
    """How long it takes when nobody dies."""
    pid = rehearsal.begin(victim)
    start = time.monotonic()
    acknowledged = rehearsal.act(victim, pid)
    seconds = time.monotonic() - start
    rehearsal.check(victim, acknowledged, "that did not come")
    return seconds


CAMPAIGN = Campaign(
    name="crash-others",
    promise="A change other than an append is done or not done, whenever the daemon is killed.",
    how="kill -9 at a random moment of creation, promotion, forks, trash, restore, purge, migrations, repairs, "
    "blobs, renames, labels, branches, compaction, moves, index and history; another daemon is asked afterwards",
    run=run,
)
