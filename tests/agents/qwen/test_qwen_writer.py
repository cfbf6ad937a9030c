"""The sessions that are written for Qwen Code."""

from itertools import pairwise

from support.native_sessions import a_task, native


def test_qwen_has_the_folder_on_every_line() -> None:
    lines, _ = native("qwen", a_task(title="Notes"))
    assert {line["cwd"] for line in lines} == {"/home/dev/clock"}
    assert all(below["parentUuid"] == above["uuid"] for above, below in pairwise(lines))
    kinds = [line["type"] for line in lines]
    assert kinds == ["user", "assistant", "tool_result", "tool_result", "assistant", "system"]
    assert lines[-1]["systemPayload"]["customTitle"] == "Notes"
    assert lines[3]["toolCallResult"]["status"] == "error"
