import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { distinctions, hitFacts, sessionFacts } from "../../src/model/distinctions.ts";
import { labelDistinctions } from "../../src/model/labels.ts";
import { sessionWords } from "../../src/model/words.ts";
import type { Hit, LabeledEntry } from "../../src/protocol.ts";
import { listed } from "./support/fakeLists.ts";

process.env.TZ = "UTC";

const NOW = Date.parse("2026-01-01T01:00:00.000Z");

interface Row {
  readonly shown: string;
  readonly sessionId: string;
  readonly title: string | null;
  readonly firstPrompt: string | null;
  readonly agent: string | null;
  readonly cwd: string;
  readonly updatedAt: string;
  readonly lastWords: string;
  readonly added: readonly string[];
}

const TABLE = new URL("../../../../tests/data/rows/look_alikes.json", import.meta.url);
const CASES = JSON.parse(readFileSync(TABLE, "utf8")) as readonly { readonly name: string; readonly rows: readonly Row[] }[];

for (const { name, rows } of CASES) {
  test(`rows that look the same: ${name}`, () => {
    const compared = rows.map((row) => ({
      shown: row.shown,
      facts: sessionFacts({ ...row, origin: row.agent === null ? null : { agent: row.agent } }, row.lastWords),
      id: row.sessionId,
    }));
    assert.deepEqual(distinctions(compared), rows.map(({ added }) => added));
  });
}

test("other forms of the same letters look the same", () => {
  for (const [one, other] of [["Re\u0301sume\u0301", "Résumé"], ["ﾃｽﾄ ｶﾞ", "テスト ガ"], ["각", "\u1100\u1161\u11a8"]] as const) {
    const rows = [{ shown: one, facts: ["codex"], id: "1" }, { shown: other, facts: ["gemini"], id: "2" }];
    assert.deepEqual(distinctions(rows), [["codex"], ["gemini"]]);
  }
});

test("a row that looks like another one begins its description with what differs, and its title leaves room for it", () => {
  const title = "The parser skips the last line of a file that has no line feed at its end";
  const words = sessionWords(listed("s", "/a", 1, { title }), false, NOW, ["14:03"]);
  assert.equal(words.label, "The parser skips the last line of a fil…");
  assert.equal(words.description, "14:03 · 1h · 2 messages");
  assert.match(words.accessibleText, /at its end, 14:03, 1h ago/);
  assert.equal(sessionWords(listed("s", "/a", 1, { title }), false, NOW).label, title);
});

test("hits of the same entry in forks show the part of their sessions' ids that differs", () => {
  const hit = {
    title: "The parser", firstPrompt: null, cwd: "/a", entryId: "e1", timestamp: "2026-01-01T00:00:00.000Z",
    snippet: "Why?", origin: null,
  } as unknown as Hit;
  const facts = ["0199aaaa-0000-7000-8000-000000000001", "0199aaaa-0000-7000-8000-000000000002"].map((sessionId) =>
    hitFacts({ ...hit, sessionId }),
  );
  const rows = facts.map((each) => ({ shown: "Why?", facts: each, id: "e1" }));
  assert.deepEqual(distinctions(rows), [["…1"], ["…2"]]);
});

test("labels of the same name, text and age show the times at which they were set, and then the entries", () => {
  const labeled = (entryId: string, labeledAt: string): LabeledEntry =>
    ({ entryId, label: "first try", labeledAt, seq: 1, type: "message", role: "user", preview: "Why?" });
  const entries = [
    labeled("e1", "2026-01-01T00:01:00.000Z"), labeled("e2", "2026-01-01T00:01:30.000Z"),
    labeled("e3", "2026-01-01T00:02:00.000Z"), labeled("e4", "2025-12-01T00:00:00.000Z"),
  ];
  assert.deepEqual(labelDistinctions(entries, Date.parse("2026-01-01T02:30:00.000Z")), [
    ["00:01", "e1"], ["00:01", "e2"], ["00:02"], [],
  ]);
});
