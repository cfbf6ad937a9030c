import assert from "node:assert/strict";
import { test } from "node:test";
import { Board, stateOf } from "../../src/model/board.ts";
import { boardSummary, boardTooltip, boardWords } from "../../src/model/boardWords.ts";
import type { ListedSession } from "../../src/protocol.ts";
import { listed } from "./support/fakeLists.ts";
import { until } from "./support/until.ts";

const NOW = Date.parse("2026-01-01T12:00:00.000Z");

function session(id: string, minutesAgo: number, more: Partial<ListedSession> = {}): ListedSession {
  const updatedAt = new Date(NOW - minutesAgo * 60_000).toISOString();
  return { ...listed(id, "/home/ada/shop", 1), updatedAt, leafId: "e9", lifecycle: "complete", ...more };
}

/** A board with these sessions, and the methods that it has called. */
async function shown(...sessions: ListedSession[]): Promise<{ board: Board; asked: string[] }> {
  const asked: string[] = [];
  const board = new Board(
    {
      list: async () => ({ sessions }) as never,
      tree: async ({ sessionId }) => {
        asked.push(`tree ${sessionId}`);
        return { nodes: [{ preview: `Last words of ${sessionId}` }] } as never;
      },
      stats: async ({ sessionId }) => {
        asked.push(`stats ${sessionId}`);
        return { treeStats: { tokens: { total: sessionId === "silent" ? 0 : 12_345 }, cost: { total: 0.5 } } } as never;
      },
      watch: async () => ({ watchId: "w1", mode: "live", epoch: "e", position: 1 }) as never,
      unwatch: async () => undefined,
    },
    () => undefined,
    () => NOW,
  );
  await board.start();
  await until("the details are read", () => board.rows().every((row) => row.lastWords !== ""));
  return { board, asked };
}

function change(board: Board, changed: ListedSession[], removed: string[] = []): void {
  board.sessionsChanged({ watchId: "w1", epoch: "e", position: 2, changed, removed } as never);
}

test("a session is working in a turn, waiting after it, and stopped or failed after an interruption or an error", () => {
  assert.equal(stateOf(session("s", 1, { lifecycle: "interrupted" }), NOW), "working");
  assert.equal(stateOf(session("s", 11, { lifecycle: "interrupted" }), NOW), "stopped");
  assert.equal(stateOf(session("s", 1, { lifecycle: "aborted" }), NOW), "stopped");
  assert.equal(stateOf(session("s", 1, { lifecycle: "error" }), NOW), "failed");
  assert.equal(stateOf(session("s", 1), NOW), "waiting");
  assert.equal(stateOf(session("s", 1, { lifecycle: null }), NOW), "stopped");
});

test("a followed agent that has ended, or for which a program answers, does not wait for a person", () => {
  const origin = { agent: "claude-code", sessionId: "x", path: "/p/s.jsonl", version: null, gone: false, archived: false, automated: false, ended: false };
  const state = (minutes: number, more: object) => stateOf(session("s", minutes, { origin: { ...origin, ...more } }), NOW);
  const killed = { ...origin, ended: true };
  assert.equal(stateOf(session("s", 1, { lifecycle: "interrupted", origin: killed }), NOW), "stopped");
  assert.equal(state(59, {}), "waiting");
  assert.equal(state(61, {}), "stopped");
  assert.equal(state(1, { gone: true }), "stopped");
  assert.equal(state(1, { ended: true }), "stopped");
  assert.equal(state(1, { automated: true }), "stopped");
  assert.equal(state(1, { path: "/p/s/subagents/agent-1.jsonl" }), "stopped");
});

test("the board has the sessions of the last twelve hours, newest first, with last words, tokens and cost", async () => {
  const { board } = await shown(session("old", 13 * 60), session("silent", 60), session("new", 5));
  const rows = board.rows().map(({ session: { sessionId }, ...row }) => ({ sessionId, ...row }));
  assert.deepEqual(rows, [
    { sessionId: "new", state: "waiting", lastWords: "Last words of new", tokens: 12_345, cost: 0.5 },
    { sessionId: "silent", state: "waiting", lastWords: "Last words of silent", tokens: null, cost: 0.5 },
  ]);
});

test("a change is read once, and what did not change is not read again", async () => {
  const { board, asked } = await shown(session("one", 5), session("two", 4));
  asked.length = 0;
  change(board, [session("one", 1, { leafId: "e10", lifecycle: "interrupted" })]);
  await until("the change is read", () => asked.length === 2);
  assert.deepEqual(asked, ["tree one", "stats one"]);
  assert.deepEqual(board.rows().map((row) => [row.session.sessionId, row.state]), [["one", "working"], ["two", "waiting"]]);
  change(board, [], ["one"]);
  assert.deepEqual(board.rows().map((row) => row.session.sessionId), ["two"]);
});

test("a row says what the agent does, and hides markup and control characters", async () => {
  const origin = { agent: "claude-code", sessionId: "x", path: null, version: null, gone: false, archived: false, automated: false, ended: false };
  const { board } = await shown(session("s", 2, { title: "Fix\u202eit\u001b[31m", origin, lifecycle: "interrupted" }));
  const [row] = board.rows();
  const words = boardWords(row!, "shop", NOW);
  assert.doesNotMatch(words.label, /[\u202e\u001b]/);
  assert.equal(words.description, "working · 2m · claude-code · shop · 12k tokens · $0.50 · Last words of s");
  assert.deepEqual(words.icon, { id: "circle-filled", color: "charts.green" });
  assert.match(words.context, /^session.*\+agent/);
  assert.match(boardTooltip({ ...row!, lastWords: "<b>bold</b>" }), /&#60;b&#62;bold/);
});

test("the summary counts the states and adds the costs", async () => {
  const { board } = await shown(session("one", 5), session("two", 4, { lifecycle: "interrupted" }));
  assert.equal(boardSummary(board.rows()), "1 working, 1 waiting, $1.00");
  assert.equal(boardSummary([]), "");
});

test("automated sessions have no row until they are asked for, but are counted", async () => {
  const origin = { agent: "codex", sessionId: "x", path: null, version: null, gone: false, archived: false, automated: true, ended: false };
  const { board, asked } = await shown(session("chat", 5), session("run", 1, { origin }));
  const rows = (): string[] => board.rows().map((row) => row.session.sessionId);
  assert.deepEqual([rows(), board.hiddenCount], [["chat"], 1]);
  change(board, [session("another-run", 0, { origin }), session("old-run", 13 * 60, { origin })]);
  assert.deepEqual([rows(), board.hiddenCount], [["chat"], 2]);
  assert.deepEqual(asked.filter((it) => it.endsWith("run")), []);
  board.showAutomated(true);
  assert.deepEqual([rows(), board.hiddenCount], [["another-run", "run", "chat"], 0]);
});
