import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as net from "node:net";
import * as path from "node:path";
import { test } from "node:test";
import type { Found } from "../../src/daemon/command.ts";
import { sockets } from "../../src/daemon/endpoint.ts";
import { DaemonError } from "../../src/daemon/errors.ts";
import { aHome, handshake } from "./support/daemons.ts";
import { aLoop, FOUND } from "./support/loops.ts";
import { until } from "./support/until.ts";

test("ensureRunning starts the daemon and attaches to it", async (t) => {
  const home = aHome(t);
  const { loop } = aLoop(t, home);
  const state = await loop.ensureRunning();
  assert.equal(state.kind, "attached");
  assert.deepEqual(state.kind === "attached" && [state.pid, state.socket], [home.pid, home.paths.socket]);
});

test("begin does not start the daemon, and attaches when another program starts it", async (t) => {
  const home = aHome(t);
  const recorded = aLoop(t, home);
  recorded.loop.begin();
  await until("it is offline", () => recorded.loop.state.kind === "offline");
  assert.equal(recorded.starts, 0);
  await home.run("serve", "--detach");
  await until("it is attached", () => recorded.loop.state.kind === "attached");
  assert.equal(recorded.starts, 0);
});

test("a daemon that was killed is started again", async (t) => {
  const home = aHome(t);
  const recorded = aLoop(t, home);
  const first = await recorded.loop.ensureRunning();
  home.signal("SIGKILL");
  await until("it is attached again", () => recorded.kinds().filter((kind) => kind === "attached").length === 2);
  const second = recorded.loop.state;
  assert.ok(first.kind === "attached" && second.kind === "attached" && first.epoch !== second.epoch);
  assert.deepEqual(recorded.starts, 2);
});

test("a daemon that was killed is not started again without autoStart", async (t) => {
  const home = aHome(t);
  let attempts = 0;
  const recorded = aLoop(t, home, {
    autoStart: () => false,
    sockets: () => {
      attempts += 1;
      return sockets("", home.paths);
    },
  });
  await recorded.loop.ensureRunning();
  home.signal("SIGKILL");
  const before = attempts;
  await until("it was tried again", () => recorded.loop.state.kind === "offline" && attempts >= before + 3);
  assert.equal(recorded.starts, 1);
});

test("a daemon that another program stopped is not started again", async (t) => {
  const home = aHome(t);
  let attempts = 0;
  const recorded = aLoop(t, home, {
    sockets: () => {
      attempts += 1;
      return sockets("", home.paths);
    },
  });
  await recorded.loop.ensureRunning();
  await home.run("stop");
  const before = attempts;
  await until("it was tried again", () => recorded.loop.state.kind === "offline" && attempts >= before + 3);
  assert.equal(recorded.starts, 1);
});

test("after the window stopped the daemon, it does not reconnect until ensureRunning", async (t) => {
  const home = aHome(t);
  const recorded = aLoop(t, home);
  await recorded.loop.ensureRunning();
  const attached = recorded.loop.attachment as Awaited<ReturnType<typeof handshake>>;
  await recorded.loop.stopDaemon(() => attached.request("server/stop", {}));
  await until("it is stopped", () => recorded.loop.state.kind === "stopped");
  assert.equal((await recorded.loop.ensureRunning()).kind, "attached");
  assert.equal(recorded.starts, 2);
});

test("after a refused stop, the window reconnects as before", async (t) => {
  const { loop, kinds } = aLoop(t, aHome(t));
  const refused = new DaemonError("overloaded", "not now");
  await loop.ensureRunning();
  await assert.rejects(
    loop.stopDaemon(() => Promise.reject(refused)),
    refused,
  );
  await loop.attachment?.end();
  await until("it is attached again", () => kinds().filter((kind) => kind === "attached").length === 2);
});

test("a request in flight at the end of the connection fails as disconnected", async (t) => {
  const home = aHome(t);
  const { loop } = aLoop(t, home);
  await loop.ensureRunning();
  const attached = loop.attachment as Awaited<ReturnType<typeof handshake>>;
  home.signal("SIGSTOP");
  const waiting = attached.request("server/status", {});
  await attached.sent();
  home.signal("SIGKILL");
  await assert.rejects(waiting, { name: "DaemonError", kind: "disconnected" });
});

test("concurrent restarts cause one restart and one connection", async (t) => {
  const home = aHome(t);
  const { loop, kinds } = aLoop(t, home);
  await loop.ensureRunning();
  await Promise.all([loop.restart(), loop.restart(), loop.restart()]);
  await until("it is attached", () => loop.state.kind === "attached");
  assert.deepEqual(kinds(), ["attached", "connecting", "attached"]);
  await until("the daemon has one client of the loop", async () => {
    const { clients } = JSON.parse(await home.run("clients", "--json")) as { clients: { clientId: string }[] };
    return clients.filter(({ clientId }) => clientId === "test").length === 1;
  });
});

test("without a command the state is missing, and attached as soon as there is one", async (t) => {
  const home = aHome(t);
  let found: Found = { kind: "missing", reason: "There is none." };
  const { loop } = aLoop(t, home, { findCommand: () => Promise.resolve(found) });
  assert.deepEqual(await loop.ensureRunning(), { kind: "missing", reason: "There is none." });
  found = FOUND;
  await until("it is attached", () => loop.state.kind === "attached");
});

test("a command that is too old is a mismatch that names both versions", async (t) => {
  const old: Found = { kind: "tooOld", file: "/bin/sessiond", from: "the PATH", version: "0.0.9" };
  const { loop } = aLoop(t, aHome(t), { findCommand: () => Promise.resolve(old) });
  assert.deepEqual(await loop.ensureRunning(), {
    kind: "mismatch",
    needed: "sessiond 0.1.0 or newer",
    found: "sessiond 0.0.9 (/bin/sessiond)",
  });
});

test("a daemon without a common protocol version is a mismatch", async (t) => {
  const { loop } = aLoop(t, aHome(t), { handshake: (socket, signal) => handshake(socket, signal, [999]) });
  assert.deepEqual(await loop.ensureRunning(), { kind: "mismatch", needed: "protocol 1", found: "protocol 1" });
});

test("after a failed start, the reason stays in the state and the daemon is not started again automatically", async (t) => {
  const home = aHome(t);
  fs.writeFileSync(home.environment["SESSIOND_HOME"] as string, "a file, not a folder");
  let attempts = 0;
  const recorded = aLoop(t, home, {
    sockets: () => {
      attempts += 1;
      return sockets("", home.paths);
    },
  });
  const state = await recorded.loop.ensureRunning();
  assert.equal(state.kind, "offline");
  const before = attempts;
  await until("it was tried again", () => attempts >= before + 2);
  assert.deepEqual(recorded.loop.state, state);
  assert.equal(recorded.starts, 1);
});

test("with a reason against a start, the command is not run", async (t) => {
  const home = aHome(t);
  const recorded = aLoop(t, home, { noStartReason: () => "the setting forbids it" });
  assert.equal((await recorded.loop.ensureRunning()).kind, "offline");
  assert.equal(recorded.starts, 0);
});

test("closing the loop cancels a handshake without a response", async (t) => {
  const home = aHome(t);
  const socket = path.join(home.folder, "silent.sock");
  const silent = net.createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(socket, resolve));
  t.after(() => silent.close());
  let called = false;
  const { loop } = aLoop(t, home, {
    sockets: () => [socket],
    handshake: (connection, signal) => {
      called = true;
      return handshake(connection, signal);
    },
  });
  loop.begin();
  await until("the handshake begins", () => called);
  await loop.close();
  assert.equal(loop.attachment, undefined);
});

test("a handshake without a response times out", async (t) => {
  const home = aHome(t);
  const socket = path.join(home.folder, "silent.sock");
  const silent = net.createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(socket, resolve));
  t.after(() => silent.close());
  const { loop } = aLoop(t, home, { sockets: () => [socket], handshakeTimeoutMs: 1 });
  assert.equal((await loop.ensureRunning()).kind, "offline");
});

test("ensureRunning during a stop restarts the daemon", async (t) => {
  const home = aHome(t);
  const recorded = aLoop(t, home);
  const first = await recorded.loop.ensureRunning();
  const attached = recorded.loop.attachment as Awaited<ReturnType<typeof handshake>>;
  const [, second] = await Promise.all([
    recorded.loop.stopDaemon(() => attached.request("server/stop", {})),
    recorded.loop.ensureRunning(),
  ]);
  assert.ok(first.kind === "attached" && second.kind === "attached" && first.epoch !== second.epoch);
});

test("closing the loop resolves a pending ensureRunning", async (t) => {
  let searching = false;
  const { loop } = aLoop(t, aHome(t), {
    findCommand: (signal) =>
      new Promise((resolve) => {
        searching = true;
        signal.addEventListener("abort", () => resolve({ kind: "missing", reason: "canceled" }));
      }),
  });
  const pending = loop.ensureRunning();
  await until("the command is looked for", () => searching);
  await loop.close();
  assert.notEqual((await pending).kind, "attached");
});

test("on an unsupported platform the state is missing at once", async (t) => {
  const { loop } = aLoop(t, aHome(t), { unsupportedReason: () => "not here" });
  assert.deepEqual(await loop.ensureRunning(), { kind: "missing", reason: "not here" });
});
