"""`sessiond show` names the whole output of a tool at its result, and prints it."""

from pathlib import Path

from support.commands import Shell
from support.dialect_files import SESSION, answer, call, claude
from support.dialects import jsonl

OUTPUT = "".join(f"{number} \x1b[31mbirds\n" for number in range(10_000))


def test_the_whole_output_is_named_at_its_result_and_printed(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "-work" / f"{SESSION}.jsonl"
    spilled = tmp_path / "-work" / SESSION / "tool-results/b1.txt"
    spilled.parent.mkdir(parents=True)
    spilled.write_text(OUTPUT, encoding="utf-8")
    path.write_bytes(
        jsonl(
            claude("user", "u1", None, "Count the birds."),
            claude("assistant", "a1", "u1", [call(1)]),
            claude("user", "r1", "a1", [answer(1, f"Full output saved to: {spilled}\n\n1 birds")]),
        )
    )
    assert shell.run("import", str(path)).code == 0

    shown = shell.run("show", SESSION, "--entry", "r1").out
    [command] = [line.strip() for line in shown.splitlines() if "sessiond show" in line]
    whole = shell.run(*command.split()[1:]).out

    assert "whole output: tool-results/b1.txt" in shown
    assert whole.splitlines()[1:] == [f"{number} birds" for number in range(10_000)]
