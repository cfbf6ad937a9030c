"""The large session of the gallery: 20,003 entries with 42 branch points, like the result of weeks of work."""

import random
from typing import Final

from scripts.screenshots.story import Telling

from support.pages import Story, call

ENTRIES: Final = 20_003
BRANCH_POINTS: Final = 42
TITLE: Final = "Migrate the shop to the new price service"
FIRST: Final = "Plan how we move all prices to the new service, one country at a time."
LEAF: Final = (
    "All ten countries answer from the new service, and the old one has had no request since Monday."
)

_PARTS: Final = (
    "cart",
    "invoice",
    "voucher",
    "stock",
    "refund",
    "tax",
    "export",
    "search",
    "login",
    "currency",
)
_COUNTRIES: Final = (
    "Norway",
    "Portugal",
    "Japan",
    "Chile",
    "Kenya",
    "India",
    "Canada",
    "Poland",
    "Egypt",
    "Peru",
)
_PROMPTS: Final = (
    "Move the {part} of {country} to the new prices.",
    "The {part} test of {country} is red since this morning. Why?",
    "Show me what would change in the {part} for {country}, without changing it.",
    "Undo that for {country}, and try the {part} first.",
    "Is the rounding of {country} the same in the {part} and in the old service?",
)
_ANSWERS: Final = (
    "Done for {country}: the {part} reads `prices/{country}.toml`, and **{count} tests** pass.",
    "The {part} rounded twice. It rounds once now, as the law of {country} asks.",
    "Only the {part} differs, in {count} of 4,096 orders, by one cent each.",
    "I looked at {count} call sites; the {part} is the last one that asks the old service.",
)


def large_story() -> Story:
    """Return the session. It is the same at each call."""
    chance = random.Random(19)
    story = Telling()
    story.asks(FIRST, minutes=0)
    plan = story.answers(
        "1. one country first, with both services side by side\n2. compare every price for a week\n3. move the others"
    )
    story.add("label", targetId=plan, label="the plan")
    story.leaf = plan
    forks = sorted(
        chance.sample(range(200, ENTRIES - 400, 40), BRANCH_POINTS - 1)
    )  # the last topic is at the end
    while len(story.entries) < ENTRIES - 12:
        if forks and len(story.entries) >= forks[0]:
            _branch(story, chance, named=forks.pop(0) % 3 == 0)
        _turn(story, chance)
    _end(story)
    return story


def _turn(story: Telling, chance: random.Random) -> str:
    """Ask, let the agent use some tools, and answer. Returns the id of the answer."""
    part, country, count = chance.choice(_PARTS), chance.choice(_COUNTRIES), chance.randint(3, 400)
    story.asks(chance.choice(_PROMPTS).format(part=part, country=country), minutes=chance.uniform(1, 5))
    for _ in range(chance.randint(0, 3)):
        path = f"shop/{part}/{country.lower()}.py"
        story.answers("I look at it.", call("read", path=path), seconds=chance.uniform(0.2, 2))
        story.returns("read", f"{count} lines of {path}", seconds=0.1)
    answer = chance.choice(_ANSWERS).format(part=part, country=country, count=count)
    tokens = (chance.randint(300, 4_000), chance.randint(8_000, 90_000), chance.randint(40, 900))
    return story.answers(answer, tokens=tokens, seconds=chance.uniform(1, 4))


def _branch(story: Telling, chance: random.Random, *, named: bool) -> None:
    """Try something for some turns, and go on from the entry before it."""
    before = story.leaf
    for _ in range(chance.randint(1, 4)):
        last = _turn(story, chance)
    if named:
        story.add("label", targetId=last, label=f"tried {chance.choice(_COUNTRIES)} first")
    story.leaf = before


def _end(story: Telling) -> None:
    """Add a typical end: a label, a failed request, a prompt in another script, a last branch, an answer."""
    checked = story.answers(
        "Every price of last week is equal in both services: 1,204,118 of them.", seconds=9
    )
    story.add(
        "label", targetId=checked, label="all prices of a whole week compared, the old service is still on"
    )
    story.leaf = checked
    story.asks("هل انتهى نقل الأسعار في مصر؟", minutes=0.1)
    story.answers("نعم، انتهى النقل ولم يفشل أي اختبار.", seconds=4)
    asked = story.asks("Turn the old service off.", minutes=0.2)
    story.answers("I would wait for the weekend.", seconds=3)
    story.asks("Then write down what we wait for.", minutes=0.1)
    story.leaf = asked
    story.fails("529: Overloaded", seconds=2)
    story.asks("Again, please.", minutes=0.1)
    while len(story.entries) < ENTRIES - 1:
        story.answers("I compare once more.", call("bash", command="prices compare --all"), seconds=2)
        if len(story.entries) < ENTRIES - 1:
            story.returns("bash", "1,204,118 equal, 0 different", seconds=3)
    story.answers(LEAF, tokens=(1_900, 88_000, 240), seconds=6)
