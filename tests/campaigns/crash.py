"""Kill -9 at random moments, under writers and followers who go on with whichever daemon comes next."""

from campaigns.campaign import Campaign
from campaigns.killing import wage
from campaigns.writers import Load

_LOAD = Load(
    sizes=(1, 100, 700, 5_000),
    batches=(1, 1, 1, 3, 10),
    durabilities=("synced", "synced", "written"),
    writers=4,
    followers=2,
    sessions=3,
    longest_life=0.15,
)

CAMPAIGN = Campaign(
    name="crash",
    promise="No acknowledged entry is lost, doubled or out of order, whenever the daemon is killed.",
    how="clients append to several sessions, `synced` and `written`; kill -9 at a random moment, of the start, too; "
    "clients start the next one, and batches without an answer are sent again; followers go on by seq; the files "
    "are read with a reader of the campaign's own",
    run=lambda ground: wage(ground, _LOAD, short=200, long=10_000),
)
