"""The figures of the last long runs: kept in `recorded.json`, shown as the table of daemon/RELIABILITY.md."""

from pathlib import Path

import msgspec

from campaigns.campaign import Campaign, Figures

RECORDED = Path(__file__).with_name("recorded.json")
PAGE = Path(__file__).resolve().parents[2] / "daemon/RELIABILITY.md"
START, END = "<!-- generated: campaigns -->\n", "<!-- end -->"
HEADING = (
    "campaign", "promise", "how it is tried", "rounds", "faults", "bytes", "checked", "losses", "last long run",
)  # fmt: skip


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """One long run. A run that lost something failed, and is not recorded."""

    date: str
    command: str
    seconds: int
    rounds: int
    faults: int = 0
    tried: int = 0
    checked: int = 0
    more: str = ""
    missing: list[str] = []


def recorded() -> dict[str, Record]:
    return msgspec.json.decode(RECORDED.read_bytes(), type=dict[str, Record])


def record(name: str, figures: Figures, date: str, command: str, seconds: float, missing: list[str]) -> None:
    """Keep these figures and show them."""
    kept = recorded()
    kept[name] = Record(
        date=date,
        command=command,
        seconds=round(seconds),
        rounds=figures.rounds,
        faults=figures.faults,
        tried=figures.tried,
        checked=figures.checked,
        more=figures.more,
        missing=missing,
    )
    ordered = dict(sorted(kept.items()))
    RECORDED.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=2) + b"\n")


def render(campaigns: list[Campaign]) -> str:
    """The table as Markdown, a row a campaign."""
    kept = recorded()
    rows = [
        HEADING,
        tuple("---" for _ in HEADING),
        *(_row(campaign, kept.get(campaign.name)) for campaign in campaigns),
    ]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |\n" for row in rows)


def rendered(page: str, campaigns: list[Campaign]) -> str:
    """The page with the table of today in it."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"{PAGE} has lost its markers")
    return f"{before}{start}\n{render(campaigns)}\n{end}{after}"


def _row(campaign: Campaign, run: Record | None) -> tuple[str, ...]:
    about = (f"`{campaign.name}`", campaign.promise, campaign.how)
    if run is None:
        command = f"none yet: `scripts/campaign {campaign.name} --long --record`"
        return (*about, "", "", "", "", "", command)
    when = f"{run.date}, {_duration(run.seconds)}: `{run.command}`"
    parts = [when, run.more, *(f"not on that machine: {text}" for text in run.missing)]
    told = "; ".join(part for part in parts if part)
    return (
        *about, _number(run.rounds), _number(run.faults), _size(run.tried), _number(run.checked), "0", told,
    )  # fmt: skip


def _number(count: int) -> str:
    return f"{count:,}" if count else ""


def _size(count: int) -> str:
    if not count:
        return ""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count = round(count / 1000)
    return f"{count:,} {unit}"


def _duration(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"
