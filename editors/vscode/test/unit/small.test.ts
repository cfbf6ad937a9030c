import assert from "node:assert/strict";
import { test } from "node:test";
import { Deaths, pauses } from "../../src/daemon/backoff.ts";
import { DaemonError, daemonError } from "../../src/daemon/errors.ts";
import { greeting, terminal } from "../../src/daemon/options.ts";
import { environmentOfDaemon } from "../../src/daemon/start.ts";
import { isSession } from "../../src/sessionFiles.ts";
import { statusText } from "../../src/statusText.ts";

test("pauses grow up to a bound", () => {
  const waits = pauses();
  assert.deepEqual(
    Array.from({ length: 6 }, () => waits.next().value),
    [200, 400, 800, 1600, 2000, 2000],
  );
});

test("a daemon that dies three times within a minute is not started again", () => {
  const deaths = new Deaths();
  assert.deepEqual([0, 20_000, 40_000].map((time) => deaths.note(time)), [true, true, false]);
  deaths.forget();
  assert.ok(deaths.note(50_000));
});

test("a daemon that dies now and then is started each time", () => {
  const deaths = new Deaths();
  assert.ok([0, 60_000, 120_000, 180_000].every((time) => deaths.note(time)));
});

test("what the daemon refuses has its kind and the details of that kind", () => {
  const refused = { code: 1409, message: "The leaf moved.", data: { kind: "leafConflict", details: { currentLeafId: "e7" } } };
  const error = daemonError(refused);
  assert.deepEqual([error.kind, error.message], ["leafConflict", "The leaf moved."]);
  assert.equal(error.details("leafConflict")?.currentLeafId, "e7");
  assert.equal(error.details("idReused"), undefined);
});

test("an error without a kind is known by its code, and one of nobody's is a defect", () => {
  assert.equal(daemonError({ code: -32601, message: "" }).kind, "methodNotFound");
  assert.equal(daemonError({ code: -32800, message: "" }).kind, "canceled");
  assert.equal(daemonError({ code: -32802, message: "" }).kind, "canceled");
  assert.equal(daemonError({ code: 7, message: "" }).kind, "internal");
  assert.equal(daemonError({ code: 7, message: "", data: { kind: "toString" } }).kind, "internal");
});

test("an end of the connection is disconnected, however it is told", () => {
  for (const thrown of [{ code: -32096, message: "" }, { code: -32099, message: "" }, new Error("EPIPE"), undefined]) {
    assert.equal(daemonError(thrown).kind, "disconnected");
  }
  const ours = new DaemonError("notAttached", "");
  assert.equal(daemonError(ours), ours);
});

test("a window is the same place when its workspace is opened again, and one without is only itself", () => {
  const place = (workspace: string | undefined, window: string) => terminal(workspace, window, "/ws", 1).id;
  assert.equal(place("file:///ws", "one"), place("file:///ws", "two"));
  assert.notEqual(place("file:///ws", "one"), place("file:///other", "one"));
  assert.notEqual(place(undefined, "one"), place(undefined, "two"));
  assert.match(place("file:///ä ö/\n", "one"), /^[A-Za-z0-9._%@+:-]{1,128}$/);
});

test("what a person chose about session files is part of the greeting", () => {
  const lsp = { codeLens: true, inlayHints: false, diagnostics: true };
  assert.deepEqual(greeting("vscode-1", terminal("file:///ws", "w", undefined, 7), lsp), {
    protocolVersions: [1],
    clientId: "vscode-1",
    terminal: { id: terminal("file:///ws", "w", undefined, 7).id, kind: "vscode", pid: 7 },
    lsp,
  });
});

test("the daemon inherits the environment, but nothing that VS Code put there for itself", () => {
  const environment = { PATH: "/bin", VSCODE_PID: "1", ELECTRON_RUN_AS_NODE: "1", SESSIOND_HOME: "/x" };
  assert.deepEqual(environmentOfDaemon(environment, ""), { PATH: "/bin", SESSIOND_HOME: "/x" });
  assert.deepEqual(environmentOfDaemon(environment, "/y"), { PATH: "/bin", SESSIOND_HOME: "/y" });
});

test("a session is known by its header, also below a title, and nothing else is one", () => {
  assert.ok(isSession('{"type":"session","version":3}', ""));
  assert.ok(isSession('{"version": 3, "type": "session"}', ""));
  assert.ok(isSession('{"type":"title","title":"Atlas"}', '{"type":"session","version":3}'));
  assert.ok(!isSession('{"type":"title","title":"Atlas"}', "{}"));
  assert.ok(!isSession('{"prompt": "a session"}', '{"type":"session"}'));
  assert.ok(!isSession('["type":"session"]', ""));
  assert.ok(!isSession("", ""));
});

test("every state says what is so and offers something to do", () => {
  const attached = { kind: "attached", version: "0.1.0", socket: "/s", epoch: "e", methods: [] } as const;
  const states = [
    attached,
    { kind: "connecting" },
    { kind: "offline", reason: "Nobody listens." },
    { kind: "missing", reason: "There is none." },
    { kind: "mismatch", ours: "protocol 2", theirs: "protocol 1" },
    { kind: "stopped" },
  ] as const;
  const texts = states.map((state) => statusText(state));
  assert.equal(new Set(texts.map(({ summary }) => summary)).size, states.length);
  assert.ok(texts.every(({ detail, commands }) => detail.endsWith(".") && commands.length > 0));
  assert.match(statusText({ kind: "offline", reason: "Nobody listens." }).detail, /Nobody listens\./);
  const mismatch = statusText({ kind: "mismatch", ours: "protocol 2", theirs: "protocol 1" }).detail;
  assert.ok(mismatch.includes("protocol 2") && mismatch.includes("protocol 1"));
});
