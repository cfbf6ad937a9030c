"""Run the campaigns that were asked for, and say of each whether the promise held."""

import argparse
import datetime
import faulthandler
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from campaigns import known, table
from campaigns.campaign import (
    Campaign,
    CannotBeDone,
    Figures,
    Ground,
    LeftOut,
    TookTooLong,
    limit_time,
)
from campaigns.daemons import end_all_in

_HANGS = 600.0  # seconds; a short run that takes ten times as long as it should hangs


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/campaign", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="see --list; `all` for all of them")
    parser.add_argument("--list", action="store_true", help="say which campaigns there are")
    parser.add_argument(
        "--table", action="store_true", help="bring the table of daemon/RELIABILITY.md up to date"
    )
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument("--short", action="store_true", help="about forty seconds each (default)")
    scale.add_argument("--long", action="store_true", help="the full number of rounds")
    parser.add_argument("--rounds", type=int, help="so many rounds instead")
    parser.add_argument("--minutes", type=float, help="end each campaign after so many minutes")
    parser.add_argument("--seed", type=int, help="repeat the chances of a run (default: new ones)")
    parser.add_argument("--jobs", type=int, default=1, help="so many campaigns at the same time (default: 1)")
    parser.add_argument("--whole", action="store_true", help="what is not installed counts as a failure")
    parser.add_argument("--record", action="store_true", help="keep the figures (with --long)")
    asked = parser.parse_args()
    if asked.list:
        for campaign in known.all_campaigns():
            print(f"{campaign.name}: {campaign.promise}\n    {campaign.how}")
        return 0
    if asked.table:
        write_table()
        return 0
    if not asked.names:
        parser.error("name the campaigns, or `all`; --list says which there are")
    if asked.record and not asked.long:
        parser.error("only a long run is recorded")
    # Compiling the rules that find secrets takes seconds: all daemons of a run share what one has compiled.
    os.environ.setdefault("KF_RULE_CACHE_DIR", str(Path(__file__).parents[2] / ".cache/secret-rules"))
    names = list(known.NAMES) if "all" in asked.names else asked.names
    if unknown := set(names) - set(known.NAMES):
        parser.error(f"there is no campaign {', '.join(sorted(unknown))}; --list says which there are")
    if asked.record and asked.jobs > 1:
        parser.error("figures are recorded of campaigns that run alone")
    if asked.jobs > 1:
        failed = fight_side_by_side(names, asked)
    else:
        failed = [name for name in names if not fight(known.campaign(name), asked)]
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


def fight_side_by_side(names: Sequence[str], asked: argparse.Namespace) -> list[str]:
    """Run campaigns in processes, several at a time, and those that measure alone after them; the names that failed."""
    printing = threading.Lock()

    def failed(name: str) -> bool:
        words = command_of(known.campaign(name), asked, seed_of(asked)).split()[1:]
        options = ["--whole"] if asked.whole else []
        done = subprocess.run(
            [sys.executable, "-m", "campaigns", *words, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
            check=False,
        )  # fmt: skip
        with printing:
            print(done.stdout, end="", flush=True)
        return done.returncode != 0

    together = [name for name in names if name not in known.ALONE]
    with ThreadPoolExecutor(asked.jobs) as pool:
        outcomes = dict(zip(together, pool.map(failed, together), strict=True))
    return [name for name in names if (outcomes[name] if name in outcomes else failed(name))]


def seed_of(asked: argparse.Namespace) -> int:
    return asked.seed if asked.seed is not None else secrets.randbelow(1_000_000)


def fight(campaign: Campaign, asked: argparse.Namespace) -> bool:
    """Run one campaign and say how it went; False when it failed."""
    seed = seed_of(asked)
    again = command_of(campaign, asked, seed)
    print(f"{campaign.name}: {campaign.promise}", flush=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sdc-", ignore_cleanup_errors=True) as folder:
        ground = Ground(
            name=campaign.name,
            seed=seed,
            scale="long" if asked.long else "short",
            folder=Path(folder),
            rounds=asked.rounds,
            minutes=asked.minutes,
        )
        limit_time(0 if asked.long or asked.rounds or asked.minutes else _HANGS)
        try:
            figures = campaign.run(ground)
        except CannotBeDone as error:
            print(f"  CANNOT BE DONE HERE: {error}", flush=True)
            return True
        except LeftOut as error:
            print(f"  LEFT OUT: {error} is not installed", flush=True)
            return not asked.whole
        except (Exception, TookTooLong) as error:  # noqa: BLE001 - whatever went wrong, the next has its turn
            traceback.print_exc()
            if isinstance(error, TookTooLong):
                faulthandler.dump_traceback(all_threads=True)
            print(f"  FAILED: {error}\n  To repeat it: {again}", flush=True)
            return False
        finally:
            limit_time(0)
            end_all_in(Path(folder))
    seconds = time.monotonic() - start
    for reason in ground.missing:
        print(f"  PARTLY, CANNOT BE DONE HERE: {reason}", flush=True)
    print(f"  held: {told(figures)} ({seconds:.0f} s, seed {seed})", flush=True)
    if asked.record:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        table.record(campaign.name, figures, today, again, seconds, ground.missing)
        write_table()
    return True


def told(figures: Figures) -> str:
    parts = [
        f"{count:,} {what}"
        for count, what in (
            (figures.rounds, "rounds"),
            (figures.faults, "faults"),
            (figures.tried, "bytes"),
            (figures.checked, "checked"),
        )
        if count
    ]
    return ", ".join([*parts, figures.more] if figures.more else parts)


def command_of(campaign: Campaign, asked: argparse.Namespace, seed: int) -> str:
    """The command that does the same again."""
    words = ["scripts/campaign", campaign.name]
    if asked.long:
        words.append("--long")
    if asked.rounds is not None:
        words += ["--rounds", str(asked.rounds)]
    if asked.minutes is not None:
        words += ["--minutes", f"{asked.minutes:g}"]
    return " ".join([*words, "--seed", str(seed)])


def write_table() -> None:
    page = table.PAGE.read_text(encoding="utf-8")
    table.PAGE.write_text(table.rendered(page, known.all_campaigns()), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
