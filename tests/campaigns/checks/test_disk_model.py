"""The disk that loses power, as campaigns imagine it: what must be kept is, and what may be lost can be."""

import random
from pathlib import Path

from campaigns.disk_model import PAGE, Content, Disk, Names
from campaigns.recording import Event

Image = dict[str, bytes | None]


class Story:
    """The steps of a daemon, one after the other."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(
        self, kind: str, path: str = "", fd: int = 3, other: str = "", data: bytes = b"", size: int = 0
    ) -> None:
        tick = 2 * len(self.events) + 1
        self.events.append(Event(tick, tick + 1, kind, fd, path, other, size, data))

    def a_file(self, path: str, data: bytes) -> None:
        self.add("create", path)
        self.add("write", data=data)

    def sync_of_folder(self, path: str) -> None:
        self.add("open", path, fd=4)
        self.add("sync", fd=4)


def images(tmp_path: Path, story: Story, names: Names, content: Content) -> list[Image]:
    disk = Disk(tmp_path, story.events)
    return [disk.image(names, content, random.Random(seed)) for seed in range(50)]


def test_synced_bytes_are_kept_and_others_may_be_lost(tmp_path: Path) -> None:
    story = Story()
    story.a_file("log", b"one")
    story.add("sync")
    story.sync_of_folder("")
    story.add("write", data=b"two")

    assert {image["log"] for image in images(tmp_path, story, "least", "synced only")} == {b"one"}
    assert {image["log"] for image in images(tmp_path, story, "least", "prefix")} == {b"one", b"onetwo"}
    torn = {image["log"] for image in images(tmp_path, story, "least", "torn")}
    assert torn <= {b"one", b"onet", b"onetw", b"onetwo"}
    assert len(torn) > 1


def test_a_write_behind_the_beginning_of_a_sync_is_not_covered_by_it(tmp_path: Path) -> None:
    story = Story()
    story.a_file("log", b"one")
    story.sync_of_folder("")
    write = Event(20, 23, "write", 3, data=b"two")
    sync = Event(22, 30, "sync", 3)

    disk = Disk(tmp_path, [*story.events, write, sync])

    assert disk.image("least", "synced only", random.Random(0))["log"] == b"one"


def test_pages_that_were_not_synced_may_be_nul_with_others_behind_them(tmp_path: Path) -> None:
    story = Story()
    story.a_file("log", b"x" * 100)
    story.add("sync")
    story.sync_of_folder("")
    story.add("write", data=b"y" * (3 * PAGE))

    found = [image["log"] or b"" for image in images(tmp_path, story, "least", "holes")]

    assert {data[:100] for data in found} == {b"x" * 100}
    assert {len(data) for data in found} == {100 + 3 * PAGE}
    assert any(b"\0" in data and data.rstrip(b"\0").endswith(b"y") for data in found)


def test_a_name_is_kept_when_its_folder_was_synced(tmp_path: Path) -> None:
    story = Story()
    story.add("mkdir", "a")
    story.sync_of_folder("")
    story.a_file("a/new", b"1")
    story.add("sync")

    assert all("a/new" not in image for image in images(tmp_path, story, "least", "all"))
    story.sync_of_folder("a")
    assert all(image["a/new"] == b"1" for image in images(tmp_path, story, "least", "all"))


def test_a_rename_happens_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "log").write_bytes(b"1")
    story = Story()
    story.add("rename", "a/log", other="b/log")

    found = {tuple(sorted(image)) for image in images(tmp_path, story, "scattered", "all")}

    assert found == {("a", "a/log", "b"), ("a", "b", "b/log")}


def test_names_of_a_journalled_file_system_are_lost_from_the_end(tmp_path: Path) -> None:
    story = Story()
    for name in "abc":
        story.a_file(name, b"")

    found = {tuple(sorted(image)) for image in images(tmp_path, story, "journalled", "all")}

    assert found == {(), ("a",), ("a", "b"), ("a", "b", "c")}
    assert ("b", "c") in {tuple(sorted(image)) for image in images(tmp_path, story, "scattered", "all")}


def test_bytes_that_a_refused_sync_dropped_never_come_back(tmp_path: Path) -> None:
    story = Story()
    story.a_file("log", b"one")
    story.sync_of_folder("")
    story.add("refused sync")
    story.add("sync")

    assert {image["log"] for image in images(tmp_path, story, "least", "all")} == {b"\0\0\0"}
