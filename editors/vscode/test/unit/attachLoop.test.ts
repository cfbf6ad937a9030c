import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as net from "node:net";
import * as path from "node:path";
import { test } from "node:test";
import type { Found } from "../../src/daemon/command.ts";
import { sockets } from "../../src/daemon/endpoint.ts";
import { DaemonError } from "../../src/daemon/errors.ts";
import { aHome, greet } from "./support/daemons.ts";
import { aLoop, FOUND } from "./support/loops.ts";
import { until } from "./support/patience.ts";

test("a daemon that is wanted is started, and attached to", async (t) => {
  const home = aHome(t);
  const { loop } = aLoop(t, home);
  const state = await loop.ensureRunning();
  assert.equal(state.kind, "attached");
  assert.deepEqual(state.kind === "attached" && [state.pid, state.socket], [home.pid, home.places.socket]);
});

test("a daemon that is only waited for is not started, and attached to once somebody starts it", async (t) => {
  const home = aHome(t);
  const watched = aLoop(t, home);
  watched.loop.begin();
  await until("it is offline", () => watched.loop.state.kind === "offline");
  assert.equal(watched.starts, 0);
  await home.run("serve", "--detach");
  await until("it is attached", () => watched.loop.state.kind === "attached");
  assert.equal(watched.starts, 0);
});

test("a daemon that was killed is started again", async (t) => {
  const home = aHome(t);
  const watched = aLoop(t, home);
  const first = await watched.loop.ensureRunning();
  home.signal("SIGKILL");
  await until("it is attached again", () => watched.kinds().filter((kind) => kind === "attached").length === 2);
  const second = watched.loop.state;
  assert.ok(first.kind === "attached" && second.kind === "attached" && first.epoch !== second.epoch);
  assert.deepEqual(watched.starts, 2);
});

test("a daemon that was killed is left alone where it is not to be started", async (t) => {
  const home = aHome(t);
  let looks = 0;
  const watched = aLoop(t, home, {
    autoStart: () => false,
    sockets: () => {
      looks += 1;
      return sockets("", home.places);
    },
  });
  await watched.loop.ensureRunning();
  home.signal("SIGKILL");
  const before = looks;
  await until("it was looked for again", () => watched.loop.state.kind === "offline" && looks >= before + 3);
  assert.equal(watched.starts, 1);
});

test("a daemon that was stopped in order by somebody else stays so", async (t) => {
  const home = aHome(t);
  let looks = 0;
  const watched = aLoop(t, home, {
    sockets: () => {
      looks += 1;
      return sockets("", home.places);
    },
  });
  await watched.loop.ensureRunning();
  await home.run("stop");
  const before = looks;
  await until("it was looked for again", () => watched.loop.state.kind === "offline" && looks >= before + 3);
  assert.equal(watched.starts, 1);
});

test("a daemon that this window stopped is not looked for, until it is wanted again", async (t) => {
  const home = aHome(t);
  const watched = aLoop(t, home);
  await watched.loop.ensureRunning();
  const attached = watched.loop.attachment as Awaited<ReturnType<typeof greet>>;
  await watched.loop.rest(() => attached.request("server/stop", {}));
  await until("it is stopped", () => watched.loop.state.kind === "stopped");
  assert.equal((await watched.loop.ensureRunning()).kind, "attached");
  assert.equal(watched.starts, 2);
});

test("a stop that is refused leaves all as it was", async (t) => {
  const { loop, kinds } = aLoop(t, aHome(t));
  const refused = new DaemonError("overloaded", "not now");
  await loop.ensureRunning();
  await assert.rejects(
    loop.rest(() => Promise.reject(refused)),
    refused,
  );
  await loop.attachment?.end();
  await until("it is attached again", () => kinds().filter((kind) => kind === "attached").length === 2);
});

test("what waits for an answer when the connection ends fails as disconnected", async (t) => {
  const home = aHome(t);
  const { loop } = aLoop(t, home);
  await loop.ensureRunning();
  const attached = loop.attachment as Awaited<ReturnType<typeof greet>>;
  home.signal("SIGSTOP");
  const waiting = attached.request("server/status", {});
  await attached.sent();
  home.signal("SIGKILL");
  await assert.rejects(waiting, { name: "DaemonError", kind: "disconnected" });
});

test("restarts that come together are one, and end in one connection", async (t) => {
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

test("without a command it is missing, and attached to as soon as there is one", async (t) => {
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
    ours: "sessiond 0.1.0 or newer",
    theirs: "sessiond 0.0.9 (/bin/sessiond)",
  });
});

test("a daemon that speaks no version of ours is a mismatch", async (t) => {
  const { loop } = aLoop(t, aHome(t), { greet: (socket, signal) => greet(socket, signal, [999]) });
  assert.deepEqual(await loop.ensureRunning(), { kind: "mismatch", ours: "protocol 1", theirs: "protocol 1" });
});

test("a daemon that cannot be started says why, goes on saying it, and is not started again by itself", async (t) => {
  const home = aHome(t);
  fs.writeFileSync(home.environment["SESSIOND_HOME"] as string, "a file, no folder");
  let looks = 0;
  const watched = aLoop(t, home, {
    sockets: () => {
      looks += 1;
      return sockets("", home.places);
    },
  });
  const state = await watched.loop.ensureRunning();
  assert.equal(state.kind, "offline");
  const before = looks;
  await until("it was looked for again", () => looks >= before + 2);
  assert.deepEqual(watched.loop.state, state);
  assert.equal(watched.starts, 1);
});

test("a command that is asked for by a setting of the socket alone is not run", async (t) => {
  const home = aHome(t);
  const watched = aLoop(t, home, { noStart: () => "the setting says so" });
  assert.equal((await watched.loop.ensureRunning()).kind, "offline");
  assert.equal(watched.starts, 0);
});

test("whoever takes the connection and says nothing is left when the loop is closed", async (t) => {
  const home = aHome(t);
  const socket = path.join(home.folder, "silent.sock");
  const silent = net.createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(socket, resolve));
  t.after(() => silent.close());
  let greeted = false;
  const { loop } = aLoop(t, home, {
    sockets: () => [socket],
    greet: (connection, signal) => {
      greeted = true;
      return greet(connection, signal);
    },
  });
  loop.begin();
  await until("it is greeted", () => greeted);
  await loop.close();
  assert.equal(loop.attachment, undefined);
});

test("whoever takes the connection and says nothing is not waited for for ever", async (t) => {
  const home = aHome(t);
  const socket = path.join(home.folder, "silent.sock");
  const silent = net.createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(socket, resolve));
  t.after(() => silent.close());
  const { loop } = aLoop(t, home, { sockets: () => [socket], patience: 1 });
  assert.equal((await loop.ensureRunning()).kind, "offline");
});

test("a daemon that is wanted while this window has it stopped is restarted", async (t) => {
  const home = aHome(t);
  const watched = aLoop(t, home);
  const first = await watched.loop.ensureRunning();
  const attached = watched.loop.attachment as Awaited<ReturnType<typeof greet>>;
  const [, second] = await Promise.all([
    watched.loop.rest(() => attached.request("server/stop", {})),
    watched.loop.ensureRunning(),
  ]);
  assert.ok(first.kind === "attached" && second.kind === "attached" && first.epoch !== second.epoch);
});

test("who waits when the loop is closed is told", async (t) => {
  let asked = false;
  const { loop } = aLoop(t, aHome(t), {
    findCommand: (signal) =>
      new Promise((resolve) => {
        asked = true;
        signal.addEventListener("abort", () => resolve({ kind: "missing", reason: "given up" }));
      }),
  });
  const wanted = loop.ensureRunning();
  await until("the command is looked for", () => asked);
  await loop.close();
  assert.notEqual((await wanted).kind, "attached");
});

test("where no daemon can be, it is missing at once", async (t) => {
  const { loop } = aLoop(t, aHome(t), { impossible: () => "not here" });
  assert.deepEqual(await loop.ensureRunning(), { kind: "missing", reason: "not here" });
});
