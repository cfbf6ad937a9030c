import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { DaemonState } from "../../src/daemon/daemon.ts";
import { sockets } from "../../src/daemon/endpoint.ts";
import { DaemonError } from "../../src/daemon/errors.ts";
import type { AttachLoop, Attachment } from "../../src/daemon/loop.ts";
import { ask, named, PATIENCE } from "../../src/daemon/repeat.ts";
import { type Requests, repeatable } from "../../src/protocol.ts";
import { aHome, type Greeted, type Home } from "./support/daemons.ts";
import { aLoop } from "./support/loops.ts";
import { aLossyWay, type LossyWay } from "./support/lossyWay.ts";
import { until } from "./support/patience.ts";

const SESSION = "atlas-parser";

type Entry = { id: string; type: string; parentId: string | null };

interface Desk {
  home: Home;
  way: LossyWay;
  loop: AttachLoop;
  request<M extends keyof Requests>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"]>;
  /** The entries of the session `SESSION`, which begins with a message and its answer. */
  entries(): Promise<Entry[]>;
  /** The ids of all sessions, sorted. */
  sessions(): Promise<string[]>;
}

/** A daemon with a session, and a loop that is attached to it over a way that can lose an answer. */
async function aDesk(t: TestContext): Promise<Desk> {
  const home = aHome(t);
  await home.run("serve", "--detach");
  const way = await aLossyWay(t, home);
  let places = [way.socket];
  const { loop } = aLoop(t, home, { sockets: () => places });
  await loop.ensureRunning();
  places = [...sockets("", home.places)]; // at the lossy one somebody listens even while the daemon is away
  const request: Desk["request"] = (method, params) =>
    ask(loop, named(method, params), (it, sent) => (it as Greeted).request(method, sent)) as never;
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
    way,
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

test("a request that writes gets a commandId of its own, and keeps one that it has", () => {
  for (const method of repeatable) {
    const [first, second] = [named(method, {}), named(method, {})].map(
      (it) => (it.params as { commandId?: string }).commandId,
    );
    assert.ok(first !== undefined && second !== undefined && first !== second, method);
    assert.deepEqual(named(method, { commandId: "mine" }).params, { commandId: "mine" });
  }
});

test("what reads gets no commandId, and is not repeated", () => {
  const params = { sessionId: SESSION };
  assert.deepEqual(named("session/info", params), { params, isRepeatable: false });
});

test("a request with an id of its own for its line gets no commandId, and is repeated", () => {
  const params = { sessionId: SESSION, id: "line-1" };
  assert.deepEqual(named("state/beginTask", params), { params, isRepeatable: true });
});

test("an entry to append gets an id, unless it has one", () => {
  const { params, isRepeatable } = named("session/append", {
    sessionId: SESSION,
    entries: [{ type: "custom" }, { type: "custom", id: "mine" }],
  });
  const [first, second] = (params as { entries: Entry[] }).entries;
  assert.match(first?.id ?? "", /^[0-9a-f]{16}$/);
  assert.equal(second?.id, "mine");
  assert.ok(isRepeatable);
});

test("a provider's message that is to be appended bare has no place for an id, and is not repeated", () => {
  const bare = { sessionId: SESSION, format: "anthropic", entries: [{ role: "user", content: "Why?" }] };
  assert.deepEqual(named("session/append", bare), { params: bare, isRepeatable: false });
  const inEntry = { ...bare, entries: [{ message: bare.entries[0], id: "mine" }] };
  assert.deepEqual(named("session/append", inEntry), { params: inEntry, isRepeatable: true });
});

test("an entry whose answer was lost is stored once", async (t) => {
  const { request, entries, way } = await aDesk(t);
  way.loseAnswer();
  const { entries: told } = await request("session/append", {
    sessionId: SESSION,
    entries: [{ type: "message", message: { role: "user", content: "Fix it.", timestamp: 3 } }],
  });
  assert.deepEqual(
    told.map(({ status }) => status),
    ["duplicate"],
  );
  const stored = await entries();
  assert.deepEqual([stored.length, stored.at(-1)?.id], [3, told[0]?.id]);
});

test("a session whose answer was lost is created once", async (t) => {
  const { request, sessions, home, way } = await aDesk(t);
  way.loseAnswer();
  const { session } = await request("session/create", { cwd: home.folder, title: "New" });
  assert.deepEqual(await sessions(), [SESSION, session.sessionId].sort());
});

test("a fork whose answer was lost is made once, although the daemon was killed, too", async (t) => {
  const { request, sessions, home, way } = await aDesk(t);
  way.loseAnswer(() => home.signal("SIGKILL"));
  const { session } = await request("session/fork", { sessionId: SESSION });
  assert.deepEqual(await sessions(), [SESSION, session.sessionId].sort());
});

test("requests that a daemon had not read when it was killed are carried out by the next, in their order", async (t) => {
  const { request, entries, home, loop } = await aDesk(t);
  home.signal("SIGSTOP");
  const asked = [
    request("session/label", { sessionId: SESSION, entryId: "why", label: "first" }),
    request("session/label", { sessionId: SESSION, entryId: "why", label: "last" }),
    request("session/rename", { sessionId: SESSION, title: "Renamed" }),
  ];
  await (loop.attachment as Greeted).sent();
  home.signal("SIGKILL");
  const lines = (await Promise.all(asked)).map(({ recordId }) => recordId);
  const stored = await entries();
  assert.deepEqual(
    stored.slice(2).map(({ id }) => id),
    lines,
  );
  const { session } = await request("session/info", { sessionId: SESSION });
  assert.equal(session.title, "Renamed");
});

test("what reads fails when the connection ends before the answer", async (t) => {
  const { request, way } = await aDesk(t);
  way.loseAnswer();
  await assert.rejects(request("session/info", { sessionId: SESSION }), { kind: "disconnected" });
});

test("a refusal by the second daemon is that of the request", async (t) => {
  const { request, home, loop } = await aDesk(t);
  home.signal("SIGSTOP");
  const asked = request("session/label", { sessionId: SESSION, entryId: "nothing", label: "here" });
  await (loop.attachment as Greeted).sent();
  home.signal("SIGKILL");
  await assert.rejects(asked, { kind: "entryNotFound" });
});

test("what a daemon that is about to end refuses is carried out by the next", async (t) => {
  const { request, sessions, home, loop } = await aDesk(t);
  const ended = loop.attachment?.ended;
  const drained = request("server/drain", {});
  const created = request("session/create", { cwd: home.folder });
  await drained;
  await ended;
  await home.run("serve", "--detach");
  const { session } = await created;
  assert.deepEqual(await sessions(), [SESSION, session.sessionId].sort());
});

test("a refusal of a daemon that is about to end is told when no other daemon comes", async () => {
  const draining = new DaemonError("draining", "The daemon is about to end.");
  const asked = ask(lost("the first"), RENAME, () => Promise.reject(draining), undefined, 1);
  await assert.rejects(asked, draining);
});

test("a request does not wait for a daemon that was stopped in this window", async (t) => {
  const { loop } = await aDesk(t);
  const begun = performance.now();
  const asked = ask(loop, RENAME, async (attachment) => {
    await attachment.ended;
    throw LOST;
  });
  await Promise.all([
    assert.rejects(asked, { kind: "disconnected" }),
    loop.rest(() => (loop.attachment as Greeted).request("server/stop", {})),
  ]);
  assert.ok(performance.now() - begun < PATIENCE);
});

test("a request does not wait when the window closes", async (t) => {
  const { loop } = await aDesk(t);
  const asked = ask(loop, RENAME, async (attachment) => {
    await attachment.ended;
    throw LOST;
  });
  const begun = performance.now();
  await Promise.all([assert.rejects(asked, { kind: "disconnected" }), loop.close()]);
  assert.ok(performance.now() - begun < PATIENCE);
});

const LOST = new DaemonError("disconnected", "The connection has ended.");
const FACTS = { version: "", epoch: "", methods: [] };
const ATTACHED: DaemonState = { kind: "attached", socket: "", ...FACTS };
const RENAME = named("session/rename", { sessionId: SESSION, title: "T" });

/** Connections of which each is lost; as many as are asked for, or only the first. */
function lost(which: "each" | "the first") {
  const attachment = (): Attachment => ({ facts: FACTS, ended: Promise.resolve(), end: () => Promise.resolve() });
  return {
    state: ATTACHED,
    attachment: attachment(),
    next: async (_: Attachment, signal: AbortSignal): Promise<Attachment | undefined> => {
      if (which === "the first") {
        await until("it is given up", () => signal.aborted);
        return undefined;
      }
      return attachment();
    },
  };
}

test("a request is sent twice and not a third time, with the same params", async () => {
  const sent: object[] = [];
  const asked = ask(lost("each"), RENAME, (_, params) => {
    sent.push(params);
    return Promise.reject(LOST);
  });
  await assert.rejects(asked, { kind: "disconnected" });
  assert.deepEqual(sent, [RENAME.params, RENAME.params]);
});

test("a request waits for a connection only as long as it has patience", async () => {
  const asked = ask(lost("the first"), RENAME, () => Promise.reject(LOST), undefined, 1);
  await assert.rejects(asked, { kind: "disconnected" });
});

test("a request that waits for a connection can be given up", async () => {
  const giveUp = new AbortController();
  const asked = ask(lost("the first"), RENAME, () => Promise.reject(LOST), giveUp.signal);
  giveUp.abort();
  await assert.rejects(asked, { kind: "canceled" });
});

test("an error that is no loss of the connection is not sent again", async () => {
  let sent = 0;
  const refused = new DaemonError("readOnly", "");
  const asked = ask(lost("each"), RENAME, () => {
    sent += 1;
    return Promise.reject(refused);
  });
  await assert.rejects(asked, refused);
  assert.equal(sent, 1);
});
