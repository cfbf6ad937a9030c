import assert from "node:assert/strict";
import { test } from "node:test";
import { SessionsModel } from "../../src/model/sessions.ts";
import { initialsOf, sessionTooltip, sessionWords, titleOf } from "../../src/model/words.ts";
import type { SessionInfo } from "../../src/protocol.ts";
import { automated, FakeLists, Gate, listed } from "./support/fakeLists.ts";

const FIVE = [
  listed("a1", "/a", 1), listed("a2", "/a", 2), listed("a3", "/a", 3), listed("b1", "/b", 9), listed("c1", "/c", 4),
];

function modelOf(lists: FakeLists, ...folders: string[]): SessionsModel {
  return new SessionsModel(folders, lists, () => undefined);
}

function shown(model: SessionsModel): string[] {
  return model.groups().map(({ cwd, here, sessions, more }) => {
    const ids = sessions.map(({ sessionId }) => sessionId).join(" ");
    return `${here ? "*" : ""}${cwd}: ${ids}${more ? " …" : ""}`;
  });
}

/** Wait until all that can run without a response has run. */
const settled = (): Promise<void> => new Promise(setImmediate);

test("the folders of the window come first, then the most recently used", async () => {
  const model = modelOf(new FakeLists(...FIVE), "/a");
  await model.start();
  assert.deepEqual(shown(model), ["*/a: a3 a2 …", "/b: b1", "/c: c1"]);
  assert.ok(model.more);
});

test("a folder of the window has the sessions of its whole project", async () => {
  const model = modelOf(new FakeLists(...FIVE, listed("a4", "/a/sub", 8)), "/a");
  await model.start();
  assert.deepEqual(shown(model), ["*/a: a4 a3 …", "/b: b1"]);
  assert.equal(model.groupOf({ cwd: "/a/sub" }), "/a");
  assert.equal(model.groupOf({ cwd: "/b" }), "/b");
});

test("of two folders of one project, each has its own sessions, and the first has the others", async () => {
  const model = modelOf(new FakeLists(listed("a1", "/a", 1), listed("a2", "/a/b", 2), listed("a3", "/a/c", 3)), "/a", "/a/b");
  await model.start();
  await model.loadMore("/a");
  assert.deepEqual(shown(model), ["*/a: a3 a1", "*/a/b: a2"]);
});

test("a new session in a folder that is not known yet moves to the group of its project", async () => {
  const lists = new FakeLists(...FIVE);
  const model = modelOf(lists, "/a");
  await model.start();
  const fresh = [listed("n1", "/a/new", 20), listed("n2", "/new", 21), listed("n3", "/a/new", 22)];
  lists.sessions.push(...fresh);
  const before = lists.listed.length;
  model.sessionsChanged(lists.note("w1", fresh));
  await settled();
  assert.deepEqual(shown(model), ["*/a: n3 n1 a3 a2 …", "/new: n2", "/b: b1", "/c: c1"]);
  assert.equal(lists.listed.length, before + 2);
});

test("pages are read on request, of a folder and of all folders", async () => {
  const lists = new FakeLists(...FIVE);
  const model = modelOf(lists, "/a");
  await model.start();
  assert.equal(lists.listed.length, 2);
  await model.loadMore("/a");
  assert.deepEqual(shown(model)[0], "*/a: a3 a2 a1");
  await model.loadMore(null);
  await model.loadMore(null);
  assert.equal(model.more, false);
  assert.equal(model.size, 5);
});

test("the watch has the filter of the list, with draft sessions", async () => {
  const lists = new FakeLists(...FIVE);
  const model = modelOf(lists);
  await model.start();
  model.query = "c1";
  await model.start();
  assert.deepEqual(lists.watched.map(({ filter }) => filter), [
    { includeDrafts: true },
    { includeDrafts: true, query: "c1" },
  ]);
  assert.deepEqual(lists.unwatched, ["w1"]);
  assert.deepEqual(shown(model), ["/c: c1"]);
});

test("changed rows replace the former ones, and nothing is listed again", async () => {
  const lists = new FakeLists(...FIVE.slice(0, 2));
  const model = modelOf(lists);
  await model.start();
  model.sessionsChanged(lists.note("w1", [listed("n", "/n", 20), listed("a1", "/elsewhere", 21)], ["a2", "unknown"]));
  assert.deepEqual(shown(model), ["/elsewhere: a1", "/n: n"]);
  assert.equal(lists.listed.length, 1);
});

test("notifications of another watch are ignored", async () => {
  const lists = new FakeLists(...FIVE.slice(0, 2));
  const model = modelOf(lists);
  await model.start();
  model.sessionsChanged(lists.note("w9", [listed("n", "/n", 20)]));
  assert.deepEqual(shown(model), ["/a: a2 a1"]);
});

test("a change that arrives during a read is not undone by its response", async () => {
  const lists = new FakeLists(...FIVE);
  lists.gate = new Gate();
  const model = modelOf(lists);
  const starting = model.start();
  await settled();
  model.sessionsChanged(lists.note("w1", [listed("c1", "/moved", 30)], ["b1"]));
  lists.gate.release(0);
  await starting;
  assert.equal(model.get("b1"), undefined);
  assert.equal(model.get("c1")?.cwd, "/moved");
});

test("a change that arrives while a page is loaded is not undone by its response", async () => {
  const lists = new FakeLists(...FIVE);
  const model = modelOf(lists);
  await model.start();
  lists.gate = new Gate();
  const loading = model.loadMore(null);
  await settled();
  model.sessionsChanged(lists.note("w1", [], ["a3"]));
  lists.gate.release(0);
  await loading;
  assert.deepEqual(shown(model), ["/b: b1", "/c: c1", "/a: a2"]);
});

test("of two queries, the list shows the later one, whichever response arrives first", async () => {
  const lists = new FakeLists(...FIVE);
  lists.gate = new Gate();
  const model = modelOf(lists);
  const first = model.start();
  await settled();
  model.query = "c1";
  const second = model.start();
  await settled();
  lists.gate.release(1);
  await second;
  lists.gate.release(0);
  await first;
  assert.deepEqual(shown(model), ["/c: c1"]);
});

test("after a lost connection, the watch resumes after the last change and does not list again", async () => {
  const lists = new FakeLists(...FIVE);
  const model = modelOf(lists);
  await model.start();
  model.sessionsChanged(lists.note("w1", [listed("n", "/n", 20)]));
  model.disconnected();
  await model.start();
  assert.deepEqual(lists.watched[1]?.after, { epoch: "epoch-1", position: 1 });
  model.sessionsChanged(lists.note("w2", [], ["b1"]));
  assert.equal(model.get("b1"), undefined);
  assert.equal(lists.listed.length, 1);
  assert.deepEqual(lists.unwatched, []);
});

test("a hidden list ends its watch, and resumes it when it is shown again", async () => {
  const lists = new FakeLists(...FIVE);
  const model = modelOf(lists);
  await model.start();
  model.stop();
  assert.deepEqual(lists.unwatched, ["w1"]);
  await model.start();
  assert.deepEqual(lists.watched[1]?.after, { epoch: "epoch-1", position: 0 });
  assert.equal(lists.listed.length, 1);
});

test("after a restart of the daemon, the list is read again", async () => {
  const lists = new FakeLists(...FIVE.slice(0, 2));
  const model = modelOf(lists);
  await model.start();
  model.disconnected();
  lists.epoch = "epoch-2";
  lists.sessions.push(listed("new", "/n", 20));
  await model.start();
  assert.deepEqual(shown(model), ["/n: new", "/a: a2"]);
});

test("a watch that lapsed begins again with the whole list", async () => {
  const lists = new FakeLists(...FIVE.slice(0, 2));
  const model = modelOf(lists);
  await model.start();
  lists.sessions.push(listed("new", "/n", 20));
  await model.watchLapsed({ watchId: "w1", reason: "tooOld", message: "" });
  assert.deepEqual(shown(model), ["/n: new", "/a: a2"]);
  assert.equal(lists.watched[1]?.after, null);
});

test("notifications that arrive before the id of their watch are applied", async () => {
  const lists = new FakeLists(...FIVE.slice(0, 2));
  const model = modelOf(lists);
  await model.start();
  model.disconnected();
  const starting = model.start();
  model.sessionsChanged(lists.note("w2", [], ["a1"]));
  await starting;
  assert.deepEqual(shown(model), ["/a: a2"]);
});

test("a list that is hidden before its watch begins has no watch", async () => {
  const lists = new FakeLists(...FIVE);
  const model = modelOf(lists);
  const starting = model.start();
  model.stop();
  await starting;
  assert.deepEqual(lists.unwatched, ["w1"]);
});

test("changed folders are read at the next start", async () => {
  const lists = new FakeLists(...FIVE);
  const model = modelOf(lists);
  await model.start();
  model.setFolders(["/c"]);
  await model.start();
  assert.equal(shown(model)[0], "*/c: c1");
});

test("the row of a folder gets another id when the folder joins or leaves the window, so that it opens or closes", async () => {
  const model = modelOf(new FakeLists(...FIVE));
  const idOf = (folder: string) => model.groups().find(({ cwd }) => cwd === folder)?.id;
  await model.start();
  const [before, other] = [idOf("/c"), idOf("/b")];
  model.setFolders(["/c"]);
  assert.notEqual(idOf("/c"), before);
  assert.equal(idOf("/b"), other);
  model.setFolders([]);
  assert.equal(idOf("/c"), before);
});

test("a list that cannot be read reports why, and the former rows stay", async () => {
  const lists = new FakeLists(...FIVE);
  const model = modelOf(lists);
  await model.start();
  lists.error = new Error("not attached");
  await model.refresh();
  assert.equal(model.problem, "not attached");
  assert.equal(model.size, 2);
  lists.error = undefined;
  await model.start();
  assert.equal(model.problem, undefined);
  assert.equal(lists.listed.length, 2);
});

test("sessions in memory are beside the list until they are deleted or the daemon ends", async () => {
  const lists = new FakeLists(...FIVE.slice(0, 2));
  const model = modelOf(lists);
  await model.start();
  model.ephemeralChanged(listed("m", "/m", 30, { ephemeral: true, path: null }) as SessionInfo);
  await model.refresh();
  assert.deepEqual(shown(model), ["/m: m", "/a: a2 a1"]);
  model.query = "a";
  assert.deepEqual(shown(model), ["/a: a2 a1"]);
  model.query = "";
  model.ephemeralDeleted("m");
  assert.equal(model.get("m"), undefined);
  model.ephemeralChanged(listed("m", "/m", 30, { ephemeral: true, path: null }) as SessionInfo);
  model.forgetEphemeral();
  assert.deepEqual(shown(model), ["/a: a2 a1"]);
});

test("the row of a session shows its state and hides invisible characters", () => {
  const now = Date.parse("2026-01-01T01:00:00.000Z");
  const more = { title: "Evil\u202e\n[x](y)", tags: ["bug"], isDraft: true, lifecycle: "error", problemCount: 2 } as const;
  const words = sessionWords(listed("s", "/a", 1, { ...more, tags: ["bug"] }), false, now);
  assert.equal(words.label, "Evil [x](y)");
  assert.equal(words.description, "1h · 2 messages · #bug · draft · 2 problems · ended in an error");
  assert.deepEqual(words.icon, { id: "warning", color: "list.warningForeground" });
  assert.equal(words.context, "session+file+draft");
  assert.equal(titleOf(listed("s", "/a", 1)), "About s");
  assert.equal(titleOf({ sessionId: "s", title: " ", firstPrompt: null }), "s");
});

test("a fork is marked, because it has the title of its parent", () => {
  const words = sessionWords(listed("s", "/a", 1, { parentPath: "/data/first.jsonl" }), false, Date.parse("2026-01-01T01:00:00.000Z"));
  assert.equal(words.description, "1h · 2 messages · fork");
  assert.match(words.accessibleText, /, fork$/);
});

test("the tooltip of a session contains no markup of its title", () => {
  const tooltip = sessionTooltip(listed("s", "/a", 1, { title: "[x](command:quit)", firstPrompt: "<b>" }));
  assert.doesNotMatch(tooltip, /\]\(|<b>/);
});

test("a session that was read from an agent's session says so, and whether the agent deleted or archived it", () => {
  const origin = { agent: "claude-code", sessionId: "of-the-agent", path: "/home/a.jsonl", version: "2.1.197", gone: false, archived: false, automated: false, ended: false };
  const now = Date.parse("2026-01-01T01:00:00.000Z");
  const there = listed("s", "/a", 1, { origin });
  assert.match(sessionWords(there, false, now).description, / · claude-code$/);
  assert.equal(sessionWords(there, false, now).icon.initials, "CC");
  assert.equal(sessionWords(there, true, now).icon.initials, undefined, "the session that the tree shows is marked as that");
  assert.equal(initialsOf("codex"), "CO");
  assert.equal(initialsOf("<b>&</b>"), "BB");
  assert.match(sessionTooltip(there), /- Agent: claude&#45;code 2&#46;1&#46;197/);
  assert.match(sessionTooltip(there), /- Id in the agent: of&#45;the&#45;agent/);
  assert.match(sessionTooltip(there), /- File of the agent: /);
  const gone = listed("s", "/a", 1, { origin: { ...origin, gone: true } });
  assert.match(sessionWords(gone, false, now).description, / · claude-code · deleted by its agent$/);
  assert.match(sessionTooltip(gone), /- Deleted file of the agent: /);
  const archived = listed("s", "/a", 1, { origin: { ...origin, archived: true } });
  assert.match(sessionWords(archived, false, now).description, / · claude-code · archived by its agent$/);
  assert.match(sessionTooltip(archived), /- Archived file of the agent: /);
});

test("automated sessions are counted, and shown on request", async () => {
  const lists = new FakeLists(listed("a1", "/a", 1), automated("x1", "/a", 5), automated("x2", "/b", 6), automated("x3", "/b", 7));
  const model = modelOf(lists);
  await model.start();
  assert.deepEqual(shown(model), ["/a: a1"]);
  assert.equal(model.hiddenCount, 3);
  model.showAutomated(true);
  await model.start();
  await model.loadMore(null);
  assert.deepEqual(shown(model), ["/b: x3 x2", "/a: x1 a1"]);
  assert.equal(model.hiddenCount, 0);
});

test("the number of hidden sessions follows their changes, which show none of them", async () => {
  const lists = new FakeLists(listed("a1", "/a", 1), automated("x1", "/a", 5));
  const model = modelOf(lists);
  await model.start();
  const change = async (rows: ReturnType<typeof listed>[], removed: string[] = []): Promise<void> => {
    for (const id of [...removed, ...rows.map(({ sessionId }) => sessionId)]) {
      const place = lists.sessions.findIndex(({ sessionId }) => sessionId === id);
      lists.sessions.splice(place < 0 ? lists.sessions.length : place, place < 0 ? 0 : 1);
    }
    lists.sessions.push(...rows);
    model.sessionsChanged(lists.note("w1", rows, removed));
    await settled();
  };
  await change([automated("x2", "/a", 6)]);
  assert.deepEqual([shown(model), model.hiddenCount], [["/a: a1"], 2]);
  const before = lists.counted.length;
  await change([automated("x2", "/a", 7)]);
  assert.equal(lists.counted.length, before); // it is counted already
  await change([], ["x1"]);
  assert.equal(model.hiddenCount, 1);
  await change([listed("x2", "/a", 8)]); // a person goes on with it
  assert.deepEqual([shown(model), model.hiddenCount], [["/a: x2 a1"], 0]);
  await change([automated("x2", "/a", 9)]);
  assert.deepEqual([shown(model), model.hiddenCount], [["/a: a1"], 1]);
});
