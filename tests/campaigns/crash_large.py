"""Kill -9 while entries of 0.3 to 8 MB are written: large writes are what a kill can tear."""

from campaigns.campaign import Campaign
from campaigns.killing import wage
from campaigns.writers import Load

_LOAD = Load(
    sizes=(300_000, 1_000_000, 3_000_000, 8_000_000),
    batches=(1, 1, 1, 2),
    durabilities=("synced", "synced", "written"),
    writers=2,
    followers=1,
    sessions=2,
    longest_life=0.6,
    season=5,
    seconds=20.0,
)

CAMPAIGN = Campaign(
    name="crash-large",
    promise="Half an entry is never taken for one, and what was torn stays beside the log.",
    how="as `crash`, with entries of 0.3 to 8 MB",
    run=lambda ground: wage(ground, _LOAD, short=40, long=1_000),
)
