import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test, type TestContext } from "node:test";
import { candidates, find, type Lookup, isOlder, which } from "../../src/daemon/command.ts";
import { SESSIOND } from "./support/daemons.ts";

const NEVER = new AbortController().signal;

function aFolder(t: TestContext): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "vs-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A program that prints its version, and counts its runs in a file beside it. */
function program(file: string, output: string): string {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, `#!/bin/sh\nprintf x >> "$0.ran"\nprintf '%s\\n' '${output}'\n`, { mode: 0o755 });
  return file;
}

function runs(file: string): number {
  return fs.existsSync(`${file}.ran`) ? fs.statSync(`${file}.ran`).size : 0;
}

function lookup(about: Partial<Lookup>): Lookup {
  return { chosen: "", trusted: true, folders: [], interpreter: "", environment: {}, ...about };
}

test("the setting comes first, then the workspace's environment, the PATH and ~/.local/bin", () => {
  const about = {
    folders: ["/ws/one", "/ws/two"],
    interpreter: "${workspaceFolder}/env/bin/python",
    environment: { PATH: "/usr/local/bin:/usr/bin", HOME: "/home/ada" },
  };
  assert.deepEqual(
    candidates(lookup(about)).map(({ file }) => file),
    [
      "/ws/one/.venv/bin/sessiond",
      "/ws/two/.venv/bin/sessiond",
      "/ws/one/env/bin/sessiond",
      "/usr/local/bin/sessiond",
      "/usr/bin/sessiond",
      "/home/ada/.local/bin/sessiond",
    ],
  );
  assert.deepEqual(
    candidates(lookup({ ...about, chosen: "~/sd/sessiond" })).map(({ file }) => file),
    ["/home/ada/sd/sessiond"],
  );
});

test("without trust, no program of the workspace is a candidate", () => {
  const about = {
    trusted: false,
    folders: ["/ws"],
    interpreter: "/ws/.venv/bin/python",
    environment: { PATH: "bin:/usr/bin:" },
  };
  assert.deepEqual(
    candidates(lookup(about)).map(({ file }) => file),
    ["/usr/bin/sessiond"],
  );
});

test("the setting is a name on the PATH or a path relative to the first folder", () => {
  const environment = { PATH: "/usr/bin" };
  const files = (chosen: string) =>
    candidates(lookup({ chosen, environment, folders: ["/ws"] })).map(({ file }) => file);
  assert.deepEqual(files("sessiond-next"), ["/usr/bin/sessiond-next"]);
  assert.deepEqual(files("tools/sessiond"), ["/ws/tools/sessiond"]);
  assert.deepEqual(files("${workspaceFolder}/x/sessiond"), ["/ws/x/sessiond"]);
});

test("the real command is found with its version", async () => {
  const found = await find(lookup({ chosen: SESSIOND }), new Map(), NEVER);
  assert.equal(found.kind === "found" && found.file, SESSIOND);
});

test("another program of that name is skipped", async (t) => {
  const folder = aFolder(t);
  program(path.join(folder, "a/sessiond"), "some other program 9.9.9");
  const sessiond = program(path.join(folder, "b/sessiond"), "sessiond 0.1.0");
  const environment = { PATH: `${folder}/a:${folder}/b` };
  assert.deepEqual(await find(lookup({ environment }), new Map(), NEVER), {
    kind: "found",
    file: sessiond,
    from: "the PATH",
    version: "0.1.0",
  });
});

test("an old command is skipped for a newer one, and reported if there is no other", async (t) => {
  const folder = aFolder(t);
  const old = program(path.join(folder, "ws/.venv/bin/sessiond"), "sessiond 0.0.9");
  const about = { folders: [`${folder}/ws`], environment: { PATH: `${folder}/bin` } };
  const alone = await find(lookup(about), new Map(), NEVER);
  assert.deepEqual([alone.kind, alone.kind === "tooOld" && alone.file], ["tooOld", old]);
  program(path.join(folder, "bin/sessiond"), "sessiond 0.2.0");
  assert.equal((await find(lookup(about), new Map(), NEVER)).kind, "found");
});

test("a command in the settings that cannot be run is not replaced by another one", async (t) => {
  const folder = aFolder(t);
  program(path.join(folder, "bin/sessiond"), "sessiond 0.1.0");
  const about = { chosen: "/nowhere/sessiond", environment: { PATH: `${folder}/bin` } };
  assert.equal((await find(lookup(about), new Map(), NEVER)).kind, "missing");
});

test("a program is run once, and again after it has changed", async (t) => {
  const file = program(path.join(aFolder(t), "sessiond"), "something else");
  const cache = new Map();
  await find(lookup({ chosen: file }), cache, NEVER);
  await find(lookup({ chosen: file }), cache, NEVER);
  assert.equal(runs(file), 1);
  program(file, "sessiond 0.1.0, or rather not");
  await find(lookup({ chosen: file }), cache, NEVER);
  assert.equal(runs(file), 2);
});

test("versions are compared by their numbers", () => {
  assert.ok(isOlder("0.9.0", "0.10.0"));
  assert.ok(isOlder("0.1.9", "1.0.0"));
  assert.ok(!isOlder("0.1.0", "0.1.0"));
  assert.ok(!isOlder("0.1.0rc1", "0.1.0"));
  assert.ok(!isOlder("2.0.0", "1.9.9"));
});

test("folders and files that are not executable are not programs", (t) => {
  const folder = aFolder(t);
  fs.mkdirSync(path.join(folder, "a/uv"), { recursive: true });
  fs.mkdirSync(path.join(folder, "b"));
  fs.writeFileSync(path.join(folder, "b/uv"), "");
  const file = program(path.join(folder, "c/uv"), "");
  assert.equal(which("uv", { PATH: `${folder}/a:${folder}/b:${folder}/c` }), file);
});
