import assert from "node:assert/strict";
import { test } from "node:test";
import { CrashCounter } from "../../src/daemon/restartLimit.ts";
import { DaemonError, daemonError } from "../../src/daemon/errors.ts";
import { handshakeOptions, terminal } from "../../src/daemon/handshakeOptions.ts";
import { daemonEnvironment } from "../../src/daemon/start.ts";
import { isSession } from "../../src/sessionFiles.ts";
import { statusText } from "../../src/statusText.ts";

test("a daemon that crashes three times within a minute is not started again", () => {
  const crashes = new CrashCounter();
  assert.deepEqual([0, 20_000, 40_000].map((time) => crashes.record(time)), [true, true, false]);
  crashes.reset();
  assert.ok(crashes.record(50_000));
});

test("a daemon that crashes once a minute is started each time", () => {
  const crashes = new CrashCounter();
  assert.ok([0, 60_000, 120_000, 180_000].every((time) => crashes.record(time)));
});

test("an error of the daemon has its kind and the details of that kind", () => {
  const refused = { code: 1409, message: "The leaf moved.", data: { kind: "leafConflict", details: { currentLeafId: "e7" } } };
  const error = daemonError(refused);
  assert.deepEqual([error.kind, error.message], ["leafConflict", "The leaf moved."]);
  assert.equal(error.details("leafConflict")?.currentLeafId, "e7");
  assert.equal(error.details("idReused"), undefined);
});

test("an error without a kind gets it from its code, and is internal if that is unknown", () => {
  assert.equal(daemonError({ code: -32601, message: "" }).kind, "methodNotFound");
  assert.equal(daemonError({ code: -32800, message: "" }).kind, "canceled");
  assert.equal(daemonError({ code: -32802, message: "" }).kind, "canceled");
  assert.equal(daemonError({ code: 7, message: "" }).kind, "internal");
  assert.equal(daemonError({ code: 7, message: "", data: { kind: "toString" } }).kind, "internal");
});

test("every error of the connection is disconnected", () => {
  for (const thrown of [{ code: -32096, message: "" }, { code: -32099, message: "" }, new Error("EPIPE"), undefined]) {
    assert.equal(daemonError(thrown).kind, "disconnected");
  }
  const own = new DaemonError("notAttached", "");
  assert.equal(daemonError(own), own);
});

test("a window has the same terminal when its workspace is opened again; without a workspace, another one", () => {
  const idOf = (workspace: string | undefined, window: string) => terminal(workspace, window, "/ws", 1).id;
  assert.equal(idOf("file:///ws", "one"), idOf("file:///ws", "two"));
  assert.notEqual(idOf("file:///ws", "one"), idOf("file:///other", "one"));
  assert.notEqual(idOf(undefined, "one"), idOf(undefined, "two"));
  assert.match(idOf("file:///ä ö/\n", "one"), /^[A-Za-z0-9._%@+:-]{1,128}$/);
});

test("the settings for session files are part of the handshake", () => {
  const lsp = { codeLens: true, inlayHints: false, diagnostics: true };
  assert.deepEqual(handshakeOptions("vscode-1", terminal("file:///ws", "w", undefined, 7), lsp), {
    protocolVersions: [1],
    clientId: "vscode-1",
    terminal: { id: terminal("file:///ws", "w", undefined, 7).id, kind: "vscode", pid: 7 },
    lsp,
  });
});

test("the daemon inherits the environment without the variables of VS Code", () => {
  const environment = { PATH: "/bin", VSCODE_PID: "1", ELECTRON_RUN_AS_NODE: "1", SESSIOND_HOME: "/x" };
  assert.deepEqual(daemonEnvironment(environment, ""), { PATH: "/bin", SESSIOND_HOME: "/x" });
  assert.deepEqual(daemonEnvironment(environment, "/y"), { PATH: "/bin", SESSIOND_HOME: "/y" });
});

test("a session file is recognized by its header, also below a title", () => {
  assert.ok(isSession('{"type":"session","version":3}', ""));
  assert.ok(isSession('{"version": 3, "type": "session"}', ""));
  assert.ok(isSession('{"type":"title","title":"Atlas"}', '{"type":"session","version":3}'));
  assert.ok(!isSession('{"type":"title","title":"Atlas"}', "{}"));
  assert.ok(!isSession('{"prompt": "a session"}', '{"type":"session"}'));
  assert.ok(!isSession('["type":"session"]', ""));
  assert.ok(!isSession("", ""));
});

test("every state has a text and offers commands", () => {
  const attached = { kind: "attached", version: "0.1.0", socket: "/s", epoch: "e", methods: [] } as const;
  const states = [
    attached,
    { kind: "connecting" },
    { kind: "offline", reason: "No daemon listens." },
    { kind: "missing", reason: "There is none." },
    { kind: "mismatch", needed: "protocol 2", found: "protocol 1" },
    { kind: "stopped" },
  ] as const;
  const texts = states.map((state) => statusText(state));
  assert.equal(new Set(texts.map(({ summary }) => summary)).size, states.length);
  assert.ok(texts.every(({ detail, commands }) => detail.endsWith(".") && commands.length > 0));
  assert.match(statusText({ kind: "offline", reason: "No daemon listens." }).detail, /No daemon listens\./);
  const mismatch = statusText({ kind: "mismatch", needed: "protocol 2", found: "protocol 1" }).detail;
  assert.ok(mismatch.includes("protocol 2") && mismatch.includes("protocol 1"));
});
