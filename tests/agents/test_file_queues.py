"""The queues of a followed agent: the backlog gives the newest files first, and files are due at their last time."""

from sessiond.agents.table import AGENTS
from sessiond.hub.following.followed_agent import FollowedAgent
from sessiond.hub.following.queues import Backlog, DueFiles
from sessiond.hub.following.storage import sources_of
from sessiond.hub.transfer.source_state import FileStatus
from support.held_texts import HeldTexts


def status(modified_ns: int, size: int = 10) -> FileStatus:
    return FileStatus(device=1, inode=1, size=size, modified_ns=modified_ns, changed_ns=modified_ns)


def test_a_backlog_gives_the_newest_files_first() -> None:
    backlog = Backlog((f"/{number}", status(number * 7 % 11)) for number in range(11))
    order = [file.modified_ns for _ in range(11) for file in backlog.take(1, 100).values()]
    assert order == sorted(order, reverse=True)
    assert len(backlog) == 0
    assert backlog.take(1, 100) == {}


def test_a_portion_of_the_backlog_has_limits_of_files_and_bytes_and_at_least_one_file() -> None:
    backlog = Backlog((f"/{number}", status(number, size=60)) for number in range(10))
    assert list(backlog.take(3, 1_000)) == ["/9", "/8", "/7"]
    assert list(backlog.take(50, 100)) == ["/6", "/5"]
    assert list(backlog.take(50, 1)) == ["/4"]
    assert sorted(path for path, _ in backlog) == ["/0", "/1", "/2", "/3"]


def test_files_of_one_time_are_all_given() -> None:
    backlog = Backlog((f"/{number}", status(1)) for number in range(5))
    assert len(backlog.take(5, 1_000)) == 5


def test_files_are_due_in_the_order_of_their_times() -> None:
    due = DueFiles()
    for number in range(20):
        due[f"/{number}"] = number * 7 % 20
    assert due.take(-1) is None
    taken = [due.take(12) for _ in range(13)]
    times = [int(str(text)[1:]) * 7 % 20 for text in taken]
    assert times == list(range(13))
    assert due.take(12) is None
    assert due.next_at == 13


def test_a_file_that_is_scheduled_again_is_due_at_its_last_time_only() -> None:
    due = DueFiles()
    due["/a"], due["/b"] = 5.0, 6.0
    due["/a"] = 9.0
    assert due.next_at == 6.0
    assert [due.take(7), due.take(7), due.take(9), due.take(9)] == ["/b", None, "/a", None]
    assert len(due) == 0


def test_a_file_that_is_scheduled_with_each_of_a_thousand_lines_is_held_once() -> None:
    due, held = DueFiles(), HeldTexts()
    for number in range(1_000):
        due[held.text("/a")] = float(number)
    assert len(held) < 70
    assert due.take(998) is None
    assert due.take(999) == "/a"


def test_small_files_that_are_due_are_taken_together_and_large_ones_alone() -> None:
    agent = AGENTS["claude-code"]
    followed = FollowedAgent(agent, sources_of(agent, {}))
    for number, size in enumerate((10, 10, 500, 10, 10, 10)):
        followed.seen[f"/{number}"] = status(0, size)
        followed.due[f"/{number}"] = float(number)

    def taken() -> list[str]:
        return followed.next_due(100.0, 50, 1_000, small=100)

    assert taken() == ["/0", "/1"]
    assert sorted([*taken(), *taken()]) == ["/2", "/3", "/4", "/5"]
    assert taken() == []
