import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { DaemonState } from "../../src/daemon/daemon.ts";
import { sockets } from "../../src/daemon/endpoint.ts";
import { DaemonError } from "../../src/daemon/errors.ts";
import type { AttachLoop, Attachment } from "../../src/daemon/loop.ts";
import { prepare, RECONNECT_TIMEOUT_MS, sendWithRetry } from "../../src/daemon/retry.ts";
import { type Requests, repeatable } from "../../src/protocol.ts";
import { aHome, type Connected, type Home } from "./support/daemons.ts";
import { aLoop } from "./support/loops.ts";
import { aLossyProxy, type LossyProxy } from "./support/lossyProxy.ts";
import { until } from "./support/until.ts";

const SESSION = "atlas-parser";

type Entry = { id: string; type: string; parentId: string | null };

interface Fixture {
  home: Home;
  proxy: LossyProxy;
  loop: AttachLoop;
  request<M extends keyof Requests>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"]>;
  /** The entries of the session `SESSION`, which begins with a message and its response. */
  entries(): Promise<Entry[]>;
  /** The ids of all sessions, sorted. */
  sessions(): Promise<string[]>;
}

/** A daemon with a session, and a loop that is attached to it over a proxy that can lose a response. */
async function aFixture(t: TestContext): Promise<Fixture> {
  const home = aHome(t);
  await home.run("serve", "--detach");
  const proxy = await aLossyProxy(t, home);
  let socketPaths = [proxy.socket];
  const { loop } = aLoop(t, home, { sockets: () => socketPaths });
  await loop.ensureRunning();
  socketPaths = [...sockets("", home.paths)]; // the proxy listens even while no daemon runs
  const request: Fixture["request"] = (method, params) =>
    sendWithRetry(loop, prepare(method, params), (it, sent) => (it as Connected).request(method, sent)) as never;
  await request("session/create", { id: SESSION, cwd: home.folder });
  await request("session/append", {
    sessionId: SESSION,
    entries: [
      { type: "message", id: "why", message: { role: "user", content: "Why?", timestamp: 1 } },
      {
        type: "message",
        id: "because",
        message: { role: "assistant", content: [{ type: "text", text: "Because." }], timestamp: 2 },
      },
    ],
  });
  return {
    home,
    proxy,
    loop,
    request,
    entries: async () =>
      (await request("session/entries", { sessionId: SESSION })).items.map(({ entry }) => entry) as unknown as Entry[],
    sessions: async () => {
      const { sessions } = await request("session/list", { includeDrafts: true });
      return sessions.map(({ sessionId }) => sessionId).sort();
    },
  };
}

test("a request that writes gets a commandId, or keeps its own", () => {
  for (const method of repeatable) {
    const [first, second] = [prepare(method, {}), prepare(method, {})].map(
      (it) => (it.params as { commandId?: string }).commandId,
    );
    assert.ok(first !== undefined && second !== undefined && first !== second, method);
    assert.deepEqual(prepare(method, { commandId: "mine" }).params, { commandId: "mine" });
  }
});

test("an entry is stored once if its response is lost", async (t) => {
  const { request, entries, proxy } = await aFixture(t);
  proxy.loseResponse();
  const { entries: appended } = await request("session/append", {
    sessionId: SESSION,
    entries: [{ type: "message", message: { role: "user", content: "Fix it.", timestamp: 3 } }],
  });
  assert.deepEqual(
    appended.map(({ status }) => status),
    ["duplicate"],
  );
  const stored = await entries();
  assert.deepEqual([stored.length, stored.at(-1)?.id], [3, appended[0]?.id]);
});

test("a session is created once if its response is lost", async (t) => {
  const { request, sessions, home, proxy } = await aFixture(t);
  proxy.loseResponse();
  const { session } = await request("session/create", { cwd: home.folder, title: "New" });
  assert.deepEqual(await sessions(), [SESSION, session.sessionId].sort());
});

test("a fork is created once if its response is lost and the daemon is killed", async (t) => {
  const { request, sessions, home, proxy } = await aFixture(t);
  proxy.loseResponse(() => home.signal("SIGKILL"));
  const { session } = await request("session/fork", { sessionId: SESSION });
  assert.deepEqual(await sessions(), [SESSION, session.sessionId].sort());
});

test("requests that a killed daemon had not read are executed by the next one, in order", async (t) => {
  const { request, entries, home, loop } = await aFixture(t);
  home.signal("SIGSTOP");
  const pending = [
    request("session/label", { sessionId: SESSION, entryId: "why", label: "first" }),
    request("session/label", { sessionId: SESSION, entryId: "why", label: "last" }),
    request("session/rename", { sessionId: SESSION, title: "Renamed" }),
  ];
  await (loop.attachment as Connected).sent();
  home.signal("SIGKILL");
  const lines = (await Promise.all(pending)).map(({ recordId }) => recordId);
  const stored = await entries();
  assert.deepEqual(
    stored.slice(2).map(({ id }) => id),
    lines,
  );
  const { session } = await request("session/info", { sessionId: SESSION });
  assert.equal(session.title, "Renamed");
});

test("a request that reads fails if the connection ends before the response", async (t) => {
  const { request, proxy } = await aFixture(t);
  proxy.loseResponse();
  await assert.rejects(request("session/info", { sessionId: SESSION }), { kind: "disconnected" });
});

test("the error of the second daemon is that of the request", async (t) => {
  const { request, home, loop } = await aFixture(t);
  home.signal("SIGSTOP");
  const pending = request("session/label", { sessionId: SESSION, entryId: "nothing", label: "here" });
  await (loop.attachment as Connected).sent();
  home.signal("SIGKILL");
  await assert.rejects(pending, { kind: "entryNotFound" });
});

test("a request that a draining daemon refuses is executed by the next one", async (t) => {
  const { request, sessions, home, loop } = await aFixture(t);
  const ended = loop.attachment?.ended;
  const drained = request("server/drain", {});
  const created = request("session/create", { cwd: home.folder });
  await drained;
  await ended;
  await home.run("serve", "--detach");
  const { session } = await created;
  assert.deepEqual(await sessions(), [SESSION, session.sessionId].sort());
});

test("the error of a draining daemon is reported if no other daemon follows", async () => {
  const draining = new DaemonError("draining", "The daemon is about to end.");
  const pending = sendWithRetry(lost("the first"), RENAME, () => Promise.reject(draining), undefined, 1);
  await assert.rejects(pending, draining);
});

test("a request does not wait for a daemon that was stopped in this window", async (t) => {
  const { loop } = await aFixture(t);
  const begun = performance.now();
  const pending = sendWithRetry(loop, RENAME, async (attachment) => {
    await attachment.ended;
    throw LOST;
  });
  await Promise.all([
    assert.rejects(pending, { kind: "disconnected" }),
    loop.stopDaemon(() => (loop.attachment as Connected).request("server/stop", {})),
  ]);
  assert.ok(performance.now() - begun < RECONNECT_TIMEOUT_MS);
});

test("a request does not wait when the window closes", async (t) => {
  const { loop } = await aFixture(t);
  const pending = sendWithRetry(loop, RENAME, async (attachment) => {
    await attachment.ended;
    throw LOST;
  });
  const begun = performance.now();
  await Promise.all([assert.rejects(pending, { kind: "disconnected" }), loop.close()]);
  assert.ok(performance.now() - begun < RECONNECT_TIMEOUT_MS);
});

const LOST = new DaemonError("disconnected", "The connection has ended.");
const FACTS = { version: "", epoch: "", methods: [] };
const ATTACHED: DaemonState = { kind: "attached", socket: "", ...FACTS };
const RENAME = prepare("session/rename", { sessionId: SESSION, title: "T" });

/** Connections that are all lost. With `the first` there is no other one. */
function lost(which: "each" | "the first") {
  const attachment = (): Attachment => ({ facts: FACTS, ended: Promise.resolve(), end: () => Promise.resolve() });
  return {
    state: ATTACHED,
    attachment: attachment(),
    next: async (_: Attachment, signal: AbortSignal): Promise<Attachment | undefined> => {
      if (which === "the first") {
        await until("it is canceled", () => signal.aborted);
        return undefined;
      }
      return attachment();
    },
  };
}

test("a request waits for a connection until the timeout", async () => {
  const pending = sendWithRetry(lost("the first"), RENAME, () => Promise.reject(LOST), undefined, 1);
  await assert.rejects(pending, { kind: "disconnected" });
});

test("a request that waits for a connection can be canceled", async () => {
  const cancellation = new AbortController();
  const pending = sendWithRetry(lost("the first"), RENAME, () => Promise.reject(LOST), cancellation.signal);
  cancellation.abort();
  await assert.rejects(pending, { kind: "canceled" });
});
