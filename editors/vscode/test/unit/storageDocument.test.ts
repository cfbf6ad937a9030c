import assert from "node:assert/strict";
import { test } from "node:test";
import { storageDocument } from "../../src/model/storageDocument.ts";
import { size } from "../../src/model/text.ts";
import type { AgentDeletion, AgentStorage, StorageReportResult, StorageShare } from "../../src/protocol.ts";

const NOW = Date.parse("2026-11-24T18:00:00.000Z");

function share(key: string, sizeBytes: number, title = key): StorageShare {
  return { key, title, count: 2, sizeBytes };
}

function report(changed: Partial<StorageReportResult> = {}): StorageReportResult {
  return {
    kinds: [share("packed", 3_000_000, "packed sessions"), share("index", 1_000_000)], totalBytes: 4_000_000,
    agents: [], projects: [], projectCount: 0, months: [], sessions: [], recentBytes: 0, freeBytes: 80_000_000_000,
    ...changed,
  };
}

function agent(changed: Partial<AgentDeletion> = {}, isFollowed = false): AgentStorage {
  return {
    agent: "claude-code", title: "Claude Code", isFollowed, folders: [], fileCount: 3, sessionBytes: 5_000, otherBytes: 7_000,
    recentBytes: 0,
    deletion: {
      maxAgeDays: 30, maxCount: null, settingsPath: null, remark: "It does so when it starts.", dueCount: 1, dueBytes: 5,
      missingCount: 0, missing: [], message: "Claude Code deletes files.", ...changed,
    },
  };
}

test("kinds of data are rows of an aligned table with their size and share", () => {
  const { text } = storageDocument(report(), [], NOW);
  assert.match(text, /^# Storage\n\n4\.0 MB in all, 80 GB free\.\n/);
  assert.match(text, /\| `packed sessions` \| 3\.0 MB \| {2}75 % \| {5}2 \|\n\| `index` {11}\| 1\.0 MB \| {2}25 % \| {5}2 \|\n/);
});

test("smaller projects and earlier months are counted", () => {
  const months = Array.from({ length: 14 }, (_, month) => share(`m${month}`, 1_000));
  const { text } = storageDocument(report({ projects: [share("/w", 5)], projectCount: 3, months }), [], NOW);
  assert.match(text, /And 2 smaller projects\./);
  assert.match(text, /`m11`/);
  assert.doesNotMatch(text, /`m12`/);
  assert.match(text, /And 2\.0 kB of 2 earlier months\./);
});

test("the rule of an agent is told, with the way to keep what is not here", () => {
  const told = (changed: Partial<AgentDeletion>, isFollowed?: boolean) =>
    storageDocument(report(), [agent(changed, isFollowed)], NOW).text;
  assert.match(told({}), /\| `Claude Code` {6}\| 12 kB \|/);
  assert.match(told({}), /\nClaude Code deletes files\.\n\nIt does so when it starts\.\n/);
  assert.match(told({ missingCount: 1, missing: ["/a\nb"] }), /files\. To keep them: \*sessiond: Follow Agents…\*\n[^]*- `\/a b`\n/);
  assert.doesNotMatch(told({ missingCount: 1, missing: ["/a"] }, true), /To keep them/);
});

test("the line of a large session is known, whatever its title is", () => {
  const session = {
    sessionId: "s1", title: "`x`\n# no heading", cwd: "/w", agent: "codex", updatedAt: "2026-11-24T16:00:00.000Z", logBytes: 900,
    blobBytes: 200,
  };
  const { text, sessions } = storageDocument(report({ sessions: [session, { ...session, sessionId: "s2", title: null }] }), [], NOW);
  assert.deepEqual(sessions.map(({ sessionId }) => sessionId), ["s1", "s2"]);
  const lines = text.split("\n");
  assert.deepEqual(
    sessions.map(({ line }) => lines[line]),
    ["- 1.1 kB · 2h ago · `/w` · `` `x` # no heading `` · `s1`", "- 1.1 kB · 2h ago · `/w` · `no title` · `s2`"],
  );
});

test("sizes have decimal units", () => {
  assert.deepEqual([0, 999, 1_000, 9_949, 9_950, 999_499, 999_500, 4e12].map(size), ["0 B", "999 B", "1.0 kB", "9.9 kB", "10 kB", "999 kB", "1.0 MB", "4.0 TB"]);
});
