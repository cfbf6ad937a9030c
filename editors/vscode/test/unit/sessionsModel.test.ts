import assert from "node:assert/strict";
import { test } from "node:test";
import { SessionsModel } from "../../src/model/sessions.ts";
import { sessionTooltip, sessionWords, titleOf } from "../../src/model/words.ts";
import type { ListedSession, ListParams, ListResult } from "../../src/protocol.ts";

function session(sessionId: string, cwd: string, day: number, more: Partial<ListedSession> = {}): ListedSession {
  return {
    sessionId,
    path: `/data/${sessionId}.jsonl`,
    cwd,
    title: null,
    tags: [],
    createdAt: "2026-01-01T00:00:00.000Z",
    updatedAt: `2026-01-${String(day).padStart(2, "0")}T00:00:00.000Z`,
    messageCount: 2,
    entryCount: 2,
    firstPrompt: `About ${sessionId}`,
    leafId: "e2",
    lastSeq: 2,
    sizeBytes: 100,
    parentSessionId: null,
    parentPath: null,
    isDraft: false,
    readOnly: false,
    ephemeral: false,
    problemCount: 0,
    writeBlock: null,
    logId: null,
    lifecycle: "complete",
    model: null,
    ...more,
  };
}

/** A daemon with these sessions, which answers in pages of two. */
function daemon(sessions: ListedSession[]): { ask: (params: ListParams) => Promise<ListResult>; asked: ListParams[] } {
  const asked: ListParams[] = [];
  const ask = (params: ListParams): Promise<ListResult> => {
    asked.push(params);
    const all = sessions
      .filter((each) => !params.cwd || each.cwd === params.cwd)
      .filter((each) => !params.query || each.firstPrompt?.includes(params.query))
      .sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
    const start = Number(params.cursor ?? 0);
    return Promise.resolve({
      sessions: all.slice(start, start + 2),
      totalCount: null,
      nextCursor: start + 2 < all.length ? String(start + 2) : null,
      previousCursor: null,
      problems: [],
      epoch: "e",
      position: 0,
      removed: [],
    });
  };
  return { ask, asked };
}

function shown(model: SessionsModel): string[] {
  return model.groups().map(({ cwd, here, sessions, more }) => {
    const ids = sessions.map(({ sessionId }) => sessionId).join(" ");
    return `${here ? "*" : ""}${cwd}: ${ids}${more ? " …" : ""}`;
  });
}

const FIVE = [
  session("a1", "/a", 1), session("a2", "/a", 2), session("a3", "/a", 3), session("b1", "/b", 9), session("c1", "/c", 4),
];

test("the folders of the window come first, then what was used last", async () => {
  const model = new SessionsModel(["/a"], daemon(FIVE).ask, () => undefined);
  await model.load();
  assert.deepEqual(shown(model), ["*/a: a3 a2 …", "/b: b1", "/c: c1"]);
  assert.ok(model.more);
});

test("pages come when they are asked for, a folder's and those of all", async () => {
  const { ask, asked } = daemon(FIVE);
  const model = new SessionsModel(["/a"], ask, () => undefined);
  await model.load();
  assert.equal(asked.length, 2);
  await model.readOn("/a");
  assert.deepEqual(shown(model)[0], "*/a: a3 a2 a1");
  await model.readOn(null);
  await model.readOn(null);
  assert.equal(model.more, false);
  assert.equal(model.size, 5);
});

test("what is created, changed, moved and deleted is right at once", async () => {
  const model = new SessionsModel([], daemon(FIVE.slice(0, 2)).ask, () => undefined);
  await model.load();
  model.changed(session("n", "/n", 20));
  model.changed(session("a1", "/elsewhere", 21));
  model.gone("a2");
  assert.deepEqual(shown(model), ["/elsewhere: a1", "/n: n"]);
});

test("a change that is told while a list is on its way is not undone by it", async () => {
  const answers: (() => void)[] = [];
  const real = daemon(FIVE);
  const model = new SessionsModel(
    [],
    async (params) => {
      const answer = await real.ask(params);
      await new Promise<void>((go) => answers.push(go));
      return answer;
    },
    () => undefined,
  );
  const loading = model.load();
  await new Promise(setImmediate);
  model.gone("b1");
  answers[0]!();
  await loading;
  assert.equal(model.get("b1"), undefined);
});

test("of two lists the one that was asked for last counts", async () => {
  const answers: (() => void)[] = [];
  const real = daemon(FIVE);
  const model = new SessionsModel(
    [],
    async (params) => {
      const answer = await real.ask(params);
      await new Promise<void>((go) => answers.push(go));
      return answer;
    },
    () => undefined,
  );
  const first = model.load();
  await new Promise(setImmediate);
  model.query = "c1";
  const second = model.load();
  await new Promise(setImmediate);
  answers[1]!();
  await second;
  answers[0]!();
  await first;
  assert.deepEqual(shown(model), ["/c: c1"]);
});

test("a list that cannot be had says why, and what was shown stays", async () => {
  const real = daemon(FIVE);
  let fails = false;
  const model = new SessionsModel([], (params) => (fails ? Promise.reject(new Error("away")) : real.ask(params)), () => undefined);
  await model.load();
  fails = true;
  await model.load();
  assert.equal(model.problem, "away");
  assert.equal(model.size, 2);
});

test("a session says what it is, how it stands, and nothing that is not seen", () => {
  const now = Date.parse("2026-01-01T01:00:00.000Z");
  const hostile = session("s", "/a", 1, { title: "Evil\u202e\n[x](y)", tags: ["bug"], isDraft: true, lifecycle: "error", problemCount: 2 });
  const words = sessionWords(hostile, false, now);
  assert.equal(words.label, "Evil [x](y)");
  assert.equal(words.description, "1h · 2 messages · #bug · draft · 2 problems · ended in an error");
  assert.deepEqual(words.icon, { id: "warning", color: "list.warningForeground" });
  assert.equal(words.context, "session+file+draft");
  assert.equal(titleOf(session("s", "/a", 1)), "About s");
  assert.equal(titleOf({ sessionId: "s", title: " ", firstPrompt: null }), "s");
});

test("a fork is told from the session it came from, whose title it has", () => {
  const words = sessionWords(session("s", "/a", 1, { parentPath: "/data/first.jsonl" }), false, Date.parse("2026-01-01T01:00:00.000Z"));
  assert.equal(words.description, "1h · 2 messages · fork");
  assert.match(words.accessibleText, /, fork$/);
});

test("the tooltip of a session holds no markup of its title", () => {
  const tooltip = sessionTooltip(session("s", "/a", 1, { title: "[x](command:quit)", firstPrompt: "<b>" }));
  assert.doesNotMatch(tooltip, /\]\(|<b>/);
});
