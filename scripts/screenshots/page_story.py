"""The session that is told for the pictures of the page: a bug that is found, fixed and tested, with a fork."""

from typing import Any

from support.pages import Story, call

_COST = {"input": 0.011, "output": 0.006, "total": 0.017}


def the_story() -> Story:
    """A person asks, the assistant looks, fixes and tests; another way was tried before."""
    story = Story()
    question = story.user(
        "The checkout test fails about once in **ten** runs. Find out why, and fix it.\n\n"
        "It began with `a41c9e0`; the log says `KeyError: 'reserved'`."
    )
    _answer(
        story,
        {"type": "thinking", "thinking": "Only sometimes, so an order is not what somebody thinks it is."},
        "I run it until it fails, and look at what it was doing.",
        call("bash", command="pytest -x -q tests/test_checkout.py --count 20"),
    )
    story.result(
        '....F\n    def reserve(self, order):\n>       self.slots[order.sku]["reserved"] += order.amount\n'
        "E       KeyError: 'reserved'\n\nshop/stock.py:41: KeyError\n1 failed, 4 passed in 3.11s",
        error=True,
    )
    _answer(story, "I could lock the whole stock while it is counted.", call("read", path="shop/stock.py"))
    _result(
        story, "read", "1  class Stock:\n2      def __init__(self) -> None:\n3          self.slots = {}\n"
    )
    left = story.leaf
    story.user("No lock, please: the shop is slow enough.")
    _answer(story, "Then each slot is whole before anybody sees it.")
    story.add(
        "branch_summary", parentId=left, fromId=story.leaf,
        summary="A lock around the stock was ruled out: **too slow**. A slot that is made whole was the better idea.",
    )  # fmt: skip
    story.user("Make each slot whole before anybody sees it.")
    _answer(
        story,
        "The slot was put into the table *before* it had its fields. Now it is made first:",
        call(
            "edit", path="shop/stock.py",
            oldText='slot = self.slots[order.sku] = {}\nslot["reserved"] = 0',
            newText='slot = {"reserved": 0}\nself.slots[order.sku] = slot',
        ),
    )  # fmt: skip
    _result(story, "edit", "Edited shop/stock.py")
    fixed = _answer(
        story,
        "Twenty runs, no failure. What was wrong, and what holds now:\n\n"
        "| | before | now |\n|---|---|---|\n| slot seen | while it was made | when it is whole |\n"
        "| failures in 20 runs | 2 | 0 |\n\n"
        "```python\ndef reserve(self, order: Order) -> None:\n"
        '    slot = self.slots.setdefault(order.sku, {"reserved": 0})\n'
        '    slot["reserved"] += order.amount  # nobody else writes here\n```\n',
    )
    story.add("label", targetId=fixed, label="fixed")
    story.add("label", targetId=question, label="the bug")
    story.leaf = fixed
    story.user("Good. Say it in one line for the changelog.")
    _answer(story, "> Checkout no longer fails when two orders meet at a new article.")
    return story


def _result(story: Story, tool: str, text: str) -> None:
    story.result(text)
    story.entries[-1]["message"]["toolName"] = tool


def _answer(story: Story, *content: str | dict[str, Any]) -> str:
    name = story.assistant(*content)
    message = story.entries[-1]["message"]
    message["model"] = "claude-opus-4-1"
    message["usage"] = {
        "input": 3210,
        "output": 412,
        "cacheRead": 18_400,
        "totalTokens": 22_022,
        "cost": _COST,
    }
    return name
