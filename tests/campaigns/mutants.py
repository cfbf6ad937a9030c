"""Are the campaigns any good? Bugs are put into the daemon one by one, and each must be caught."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns import trials
from campaigns.campaign import Broken, Campaign, Figures, Ground, TookTooLong, hold
from campaigns.nursery import Nursery, nursery
from campaigns.trials import Trial
from sessiond.client.wire import DisconnectedError, RpcError


@dataclass(frozen=True)
class Mutant:
    """A bug of `mutations`, the trial that must catch it, and what of the machine must be worse for that."""

    bug: str
    trial: Trial
    machine: Sequence[str] = ()


MUTANTS = (
    Mutant("answers before the write", trials.cuts_among_followers),
    Mutant("answers before the sync", trials.cuts),
    Mutant("no fdatasync", trials.cuts),
    Mutant("a sync that is tried again", trials.cuts_after_a_refusal, ("a sync that fails",)),
    Mutant("no sync of folders", trials.cuts),
    Mutant("no sync of new files", trials.cuts),
    Mutant("a migration in place", trials.cuts),
    Mutant("a blob behind its line", trials.cuts),
    Mutant("news before the sync", trials.cuts_among_followers),
    Mutant("an end without a flush", trials.an_orderly_end, ("syncs that come late",)),
    Mutant("a migration without the original", trials.a_victim("migration of version 2")),
    Mutant("no repair of the tail", trials.a_victim("repair of half a line")),
    Mutant("a repair that throws away", trials.a_victim("repair of half a line")),
    Mutant("half a batch counts", trials.a_victim("repair of half a batch")),
    Mutant("a trash that deletes", trials.a_victim("trash")),
    Mutant("half a write stays", trials.a_full_disk, ("a disk that fills up",)),
    Mutant("a failure told to one only", trials.a_full_disk, ("a disk that fills up",)),
    Mutant("a short write counts as whole", trials.a_slow_disk, ("a disk that takes little",)),
    Mutant("no look before our line", trials.half_a_line, ("half a line before a write",)),
    Mutant("no look at known ids", trials.repeats),
    Mutant("a known id is enough", trials.repeats),
    Mutant("no look at known commands", trials.repeated_commands),
    Mutant("a journal that is not read", trials.repeated_commands),
    Mutant("no look at the expected leaf", trials.repeats),
    Mutant("a gap for followers", trials.followers),
    Mutant("one connection for all", trials.two_clients),
    Mutant("no look at the lock", trials.a_second_daemon),
)


def run(ground: Ground) -> Figures:
    sound: set[tuple[Trial, Sequence[str]]] = {(trials.cuts, ())}  # that is the campaign `replay`
    with nursery() as nurse:
        for mutant in MUTANTS:
            if (mutant.trial, mutant.machine) not in sound:
                mutant.trial(trials.fresh(ground, "sound"), nurse, mutant.machine)
                sound.add((mutant.trial, mutant.machine))
            caught = _catch(ground, nurse, mutant)
            hold(caught, f"nobody noticed a daemon with this bug: {mutant.bug}")
            ground.progress(f"{mutant.bug}: {caught}")
    return Figures(
        len(MUTANTS), faults=len(MUTANTS), checked=len(MUTANTS), more=f"all {len(MUTANTS)} bugs were caught"
    )


def _catch(ground: Ground, nurse: Nursery, mutant: Mutant) -> str:
    """Return the finding of the trial; empty if it found nothing."""
    try:
        mutant.trial(trials.fresh(ground, mutant.bug), nurse, (mutant.bug, *mutant.machine))
    except TookTooLong:
        raise
    except (Broken, RpcError, DisconnectedError) as error:
        return str(error)
    return ""


CAMPAIGN = Campaign(
    name="mutants",
    promise="The campaigns notice when the daemon is wrong.",
    how="bugs are put into a daemon one by one, as a programmer might have made them; each is caught by a trial "
    "that needs no luck, and that the daemon without the bug passes",
    run=run,
)
