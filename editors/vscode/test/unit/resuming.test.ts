import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { agentChoices, commandLine, lossText, placesOf, quoted } from "../../src/model/resuming.ts";

const AGENTS = [
  { name: "claude-code", title: "Claude Code", program: "claude", isWritable: true },
  { name: "codex", title: "Codex", program: "codex", isWritable: true },
  { name: "gemini", title: "Gemini CLI", program: "gemini", isWritable: true },
  { name: "cursor", title: "Cursor", program: "cursor-agent", isWritable: false },
];

test("agents that a session can be written for are offered, those that are installed first", () => {
  const choices = agentChoices(AGENTS, null, (program) => program === "gemini");
  assert.deepEqual(
    choices.map(({ title, note }) => [title, note]),
    [
      ["Gemini CLI", ""],
      ["Claude Code", "claude is not on the PATH"],
      ["Codex", "codex is not on the PATH"],
    ],
  );
});

test("the agent of the session itself is left out", () => {
  assert.deepEqual(
    agentChoices(AGENTS, "codex", () => true).map(({ name }) => name),
    ["claude-code", "gemini"],
  );
});

test("only variables that tell where agents keep their sessions are sent to the daemon", () => {
  const environment = { HOME: "/home/ada", CODEX_HOME: "/srv/codex", API_KEY: "secret", QWEN_HOME: undefined };
  const agents = [{ variables: ["CODEX_HOME"] }, { variables: ["QWEN_HOME"] }];
  assert.deepEqual(placesOf(agents, environment), { HOME: "/home/ada", CODEX_HOME: "/srv/codex" });
});

test("what an agent cannot represent is listed by kind, one kind in a line", () => {
  assert.equal(lossText([]), "");
  assert.equal(lossText([{ name: "tags", count: 1 }, { name: "an\nimage", count: 3 }]), "1 × tags\n3 × an image");
  const many = Array.from({ length: 12 }, (_, number) => ({ name: `kind ${number}`, count: 1 }));
  assert.match(lossText(many), /kind 9\nand 2 other kinds$/);
});

test("a shell takes every quoted word as it is", () => {
  const words = ["plain", "", "two words", "it's", "$(touch x)", "`x`", "a\nb", "-n", "*", "~", "ü", '"', "\\"];
  const printed = execFileSync("/bin/sh", ["-c", `printf '%s\\0' ${words.map(quoted).join(" ")}`], { encoding: "utf8" });
  assert.deepEqual(printed.split("\0").slice(0, -1), words);
});

test("a command line goes to the folder, imports if it must, and sets the variables", () => {
  const found = { argv: ["codex", "resume", "a'b"], importArgv: null, cwd: "/srv/my work", env: { PWD: "/x", CODEX_HOME: "/c" } };
  assert.equal(commandLine(found), `cd '/srv/my work' && CODEX_HOME=/c codex resume 'a'"'"'b'`);
  assert.equal(
    commandLine({ argv: ["opencode", "-s", "1"], importArgv: ["opencode", "import", "/f"], cwd: "/", env: {} }),
    "cd / && opencode import /f && opencode -s 1",
  );
});
