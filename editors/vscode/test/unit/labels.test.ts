import assert from "node:assert/strict";
import { test } from "node:test";
import { labelWords, readLabels } from "../../src/model/labels.ts";
import type { LabeledEntry, LabelsParams } from "../../src/protocol.ts";

const NOW = Date.parse("2026-01-01T01:00:00.000Z");

function labeled(number: number, more: Partial<LabeledEntry> = {}): LabeledEntry {
  return {
    entryId: `e${number}`,
    label: `label ${number}`,
    labeledAt: "2026-01-01T00:00:00.000Z",
    seq: number,
    type: "message",
    role: "user",
    preview: `text ${number}`,
    ...more,
  };
}

test("all pages of labels are read, in log order", async () => {
  const entries = [1, 2, 3, 4, 5].map((number) => labeled(number));
  const asked: LabelsParams[] = [];
  const read = await readLabels((params) => {
    asked.push(params);
    const start = Number(params.cursor ?? 0);
    const nextCursor = start + 2 < entries.length ? String(start + 2) : null;
    return Promise.resolve({ logId: "log", items: entries.slice(start, start + 2), nextCursor });
  }, "session-1");
  assert.deepEqual(read, entries);
  assert.deepEqual(asked.map(({ cursor }) => cursor), [undefined, "2", "4"]);
});

test("a row shows the label, the text of the entry and the time of the label", () => {
  const words = labelWords(labeled(1, { role: "toolResult" }), NOW);
  assert.equal(words.label, "label 1");
  assert.equal(words.description, "text 1 · 1h");
  assert.equal(words.accessibleText, "label 1, tool, text 1, labeled 1h ago");
});

test("a row contains no invisible characters of its label and its entry", () => {
  const words = labelWords(labeled(1, { label: "a\u202e\nb", preview: "c\u200bd", labeledAt: null }), NOW);
  assert.deepEqual([words.label, words.description], ["a b", "cd"]);
});

test("menus can tell the message of a user from other entries", () => {
  assert.equal(labelWords(labeled(1), NOW).context, "entry+message+user+labeled");
  assert.equal(labelWords(labeled(1, { type: "compaction", role: null }), NOW).context, "entry+labeled");
});
