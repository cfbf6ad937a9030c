// The list of sessions over real connections to a real daemon.
import assert from "node:assert/strict";
import * as net from "node:net";
import { test, type TestContext } from "node:test";
import { SessionsModel } from "../../src/model/sessions.ts";
import type { ListResult, WatchResult } from "../../src/protocol.ts";
import { aHome, type Connected, handshake, type Home } from "./support/daemons.ts";
import { until } from "./support/until.ts";

const user = (content: string) => ({ type: "message", message: { role: "user", content, timestamp: 1 } });

async function connect(t: TestContext, home: Home): Promise<Connected> {
  const socket = net.connect(home.paths.socket);
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  const connected = await handshake(socket, AbortSignal.timeout(30_000));
  t.after(() => connected.end());
  return connected;
}

interface Window {
  readonly model: SessionsModel;
  /** The modes of all watches so far. */
  readonly modes: string[];
  /** The number of lists so far, without those that only count automated sessions. */
  lists(): number;
  attach(connection: Connected): Promise<void>;
}

/** The list of a window, over whichever connection it is attached to. */
function aWindow(): Window {
  let connection: Connected | undefined;
  let lists = 0;
  const modes: string[] = [];
  const request = <R>(method: string, params: object) => (connection as Connected).request(method, params) as Promise<R>;
  const requests = {
    list: (params: { automated?: boolean | null }) => {
      if (params.automated !== true) lists += 1;
      return request<ListResult>("session/list", params);
    },
    watch: async (params: object) => {
      const begun = await request<WatchResult>("server/watch", { ...params, intervalMs: 20 });
      modes.push(begun.mode);
      return begun;
    },
    unwatch: (params: object) => request("server/unwatch", params),
  };
  const model = new SessionsModel([], requests, () => undefined);
  return {
    model,
    modes,
    lists: () => lists,
    attach: async (to) => {
      connection = to;
      to.onNotification("server/sessionsChanged", (note) => model.sessionsChanged(note));
      to.onNotification("server/watchLapsed", (note) => void model.watchLapsed(note));
      await model.start();
    },
  };
}

test("a list follows sessions that the window does not subscribe to, and resumes after a lost connection", async (t) => {
  const home = aHome(t);
  await home.run("serve", "--detach");
  const other = await connect(t, home);
  await other.request("session/create", { id: "session-1", cwd: home.folder });
  const window = aWindow();
  const connection = await connect(t, home);
  await window.attach(connection);
  assert.equal(window.model.get("session-1")?.messageCount, 0);
  await other.request("session/append", { sessionId: "session-1", entries: [user("Why?")] });
  await until("the count of messages is updated", () => window.model.get("session-1")?.messageCount === 1);

  await connection.end();
  window.model.disconnected();
  await other.request("session/create", { id: "session-2", cwd: home.folder });
  await other.request("session/delete", { sessionId: "session-1" });
  await window.attach(await connect(t, home));
  await until("the changes are replayed", () => window.model.get("session-2") !== undefined);
  await until("the removal is replayed", () => window.model.get("session-1") === undefined);
  assert.deepEqual([window.modes, window.lists()], [["snapshot", "replay"], 1]);
});

test("after a restart of the daemon, a list is read again and followed", async (t) => {
  const home = aHome(t);
  await home.run("serve", "--detach");
  const window = aWindow();
  await window.attach(await connect(t, home));
  await home.run("stop");
  window.model.disconnected();
  await home.run("serve", "--detach");
  const other = await connect(t, home);
  await other.request("session/create", { id: "session-1", cwd: home.folder });
  await window.attach(await connect(t, home));
  assert.ok(window.model.get("session-1") !== undefined);
  await other.request("session/rename", { sessionId: "session-1", title: "Renamed" });
  await until("the title is updated", () => window.model.get("session-1")?.title === "Renamed");
  assert.deepEqual([window.modes, window.lists()], [["snapshot", "snapshot"], 2]);
});

test("a query limits the list and its changes", async (t) => {
  const home = aHome(t);
  await home.run("serve", "--detach");
  const other = await connect(t, home);
  await other.request("session/create", { id: "session-1", cwd: home.folder, title: "The cat" });
  await other.request("session/create", { id: "session-2", cwd: home.folder, title: "The dog" });
  const window = aWindow();
  window.model.query = "cat";
  await window.attach(await connect(t, home));
  assert.deepEqual([window.model.size, window.model.get("session-1")?.title], [1, "The cat"]);
  await other.request("session/rename", { sessionId: "session-2", title: "Another cat" });
  await until("the session that matches now is listed", () => window.model.get("session-2") !== undefined);
  await other.request("session/rename", { sessionId: "session-1", title: "The bird" });
  await until("the session that does not match any more is removed", () => window.model.get("session-1") === undefined);
});
