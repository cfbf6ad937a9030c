import assert from "node:assert/strict";
import { test } from "node:test";
import { comparedDocument, comparedSentence } from "../../src/model/compared.ts";
import { contextDocument, entryText } from "../../src/model/contextDocument.ts";
import { difference, Rows } from "../../src/model/rows.ts";
import { rowWords } from "../../src/model/words.ts";
import type { ComparedSide, ContextResult, TreeChangedNote, TreeNode } from "../../src/protocol.ts";

const NOW = Date.parse("2026-01-01T01:00:00.000Z");

function row(more: Partial<TreeNode> = {}): TreeNode {
  return {
    id: "e1", parentId: null, seq: 1, type: "message", role: "user", timestamp: "2026-01-01T00:00:00.000Z",
    preview: "Fix it.", label: null, onPath: true, childCount: 1, indent: 0, gutter: "", hiddenCount: 0,
    depth: 0, lastSibling: true, ...more,
  };
}

test("a row has its text, and a complete description for screen readers", () => {
  const words = rowWords(row({ label: "the cause", childCount: 2 }), false, NOW);
  assert.equal(words.label, "[the cause] Fix it.");
  assert.equal(words.labelLength, "[the cause]".length);
  assert.equal(words.description, "2 branches · 1h");
  assert.equal(words.accessibleText, "user, Fix it., labeled the cause, 2 branches, on the path, 1h ago");
  assert.equal(words.context, "entry+message+user+labeled+path");
});

test("a long label leaves room for the text", () => {
  const words = rowWords(row({ label: "prices of a whole week are compared" }), false, NOW);
  assert.equal(words.label, "[prices of a whole week…] Fix it.");
  assert.equal(words.labelLength, "[prices of a whole week…]".length);
  assert.match(words.accessibleText, /labeled prices of a whole week are compared/);
});

test("words from the right are not mixed with the rest of the row", () => {
  assert.equal(rowWords(row({ preview: "هل انتهى؟" }), false, NOW).label, "\u2068هل انتهى؟\u2069");
  assert.equal(rowWords(row({ preview: "\u2069 \u202eevil" }), false, NOW).label, "evil");
});

test("a folded branch tells how many more rows it has", () => {
  const words = rowWords(row({ onPath: false, gutter: "'", hiddenCount: 7 }), false, NOW);
  assert.equal(words.description, "7 more · 1h");
  assert.match(words.accessibleText, /, 7 more, off the path/);
});

test("the leaf and the rows off the path look different", () => {
  assert.deepEqual(rowWords(row(), true, NOW).icon, { id: "account", color: "charts.green" });
  assert.deepEqual(rowWords(row({ onPath: false }), false, NOW).icon, { id: "account", color: "disabledForeground" });
  assert.match(rowWords(row(), true, NOW).context, /\+leaf/);
  assert.match(rowWords(row(), true, NOW).description, /◀ leaf/);
});

test("unknown roles and empty texts are shown safely", () => {
  const words = rowWords(row({ role: "constructor", preview: "", timestamp: "?" }), false, NOW);
  assert.equal(words.label, "(constructor)");
  assert.equal(words.icon.id, "circle-outline");
  assert.equal(rowWords(row({ role: null, type: "branch_summary", preview: "" }), false, NOW).label, "(summary)");
});

function node(id: string, parentId: string | null, more: Partial<TreeNode> = {}): TreeNode {
  return row({ id, parentId, childCount: 0, ...more });
}

function change(nodes: TreeNode[], more: Partial<TreeChangedNote> = {}): TreeChangedNote {
  return {
    watchId: "w", sessionId: "s", logId: "l", seq: 1, leafId: "d", entryCount: 4, visibleCount: 3, precedingCount: 0,
    pathEnd: 2, changes: [{ place: 0, removed: 0, nodes }], labels: [], more: false, ...more,
  };
}

const A = node("a", null, { childCount: 2 });
const BRANCH = { gutter: "'", indent: 1, onPath: false };
const FORKED = Rows.none.with(change([A, node("b", "a", { ...BRANCH, hiddenCount: 1 }), node("d", "a")]));

test("only rows that look different are refreshed", () => {
  assert.deepEqual(difference(FORKED, FORKED.with(change([]))), []);
  assert.deepEqual(difference(FORKED, FORKED.with(change([], { labels: [{ entryId: "b", label: "mark" }] }))), ["b"]);
  assert.deepEqual(difference(FORKED, FORKED.with(change([], { pathEnd: 0 }))), ["a", "d"], "the leaf has moved");
  const branch = [node("b", "a", { ...BRANCH, childCount: 1 }), node("c", "b", { ...BRANCH, gutter: " " })];
  const opened = [A, ...branch, node("d", "a", { depth: 5 })];
  const rows = Rows.none.with(change(opened, { visibleCount: 4, pathEnd: 3 }));
  assert.deepEqual(difference(FORKED, rows), ["b"], "the new row is nested below it, and no depth is shown");
});

test("a new row at the top level refreshes all rows", () => {
  const changes = [{ place: 3, removed: 0, nodes: [node("e", "d")] }];
  assert.equal(difference(FORKED, FORKED.with(change([], { changes, visibleCount: 4, pathEnd: 3 }))), "all");
});

test("other rows that are not loaded refresh all rows", () => {
  assert.equal(difference(FORKED, FORKED.with(change([], { visibleCount: 4 }))), "all");
});

test("a row with another parent in the view refreshes all rows", () => {
  const moved = Rows.none.with(change([A, node("d", "a", BRANCH), node("b", "a")]));
  assert.equal(difference(FORKED, moved), "all");
});

function branch(leafId: string): ComparedSide {
  const totals = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, total: 3 };
  return {
    leafId, entryIds: [leafId], tokens: 7, readFiles: ["r|.md"], readFileCount: 1, modifiedFiles: ["<m>.py"], modifiedFileCount: 1,
    stats: {
      entryCount: 1, messageCount: 1, messageCounts: { user: 1 }, toolCallCount: 0, toolErrorCount: 0, toolCallCounts: {},
      compactionCount: 0, branchSummaryCount: 0, tokens: totals, cost: totals, models: [], firstEntryAt: null, lastEntryAt: null,
    },
  };
}

test("a comparison is a table with lists of files, and a sentence", () => {
  const compared = { ancestorId: "a", left: branch("l"), right: branch("r") };
  const text = comparedDocument(compared);
  assert.match(text, /\| Entries \| 1 \| 1 \|/);
  assert.match(text, /- `<m>.py`/);
  assert.match(text, /- `r¦.md`/);
  assert.equal(
    comparedSentence(compared),
    "After their common entry, l has 1 entry and about 7 tokens; r has 1 entry and about 7 tokens.",
  );
});

test("the context of a model is in fences that it cannot close, and omitted entries are listed", () => {
  const context = {
    messages: [
      { entryId: "e1", message: { role: "user", content: "```\n# no heading" } },
      { entryId: "e2", message: { role: "assistant", content: [{ type: "text", text: "yes" }, { type: "toolCall", name: "ls" }] } },
    ],
    models: { default: "a/b" }, thinkingLevel: "off", leafId: "e2", tokens: 5, tokensEstimated: true,
    explanation: [{ entryId: "e0", type: "message", role: "user", fate: "out", reason: "compactedAway", message: "It was compacted away.", tokens: 0, messageIndex: null }],
  } as unknown as ContextResult;
  const text = contextDocument(context);
  assert.match(text, /````text\n```\n# no heading\n````/);
  assert.match(text, /"toolCall"/);
  assert.match(text, /## Left out\n\n- `e0`: `It was compacted away\.`/);
});

test("the text of an entry is that of its message, content or summary", () => {
  assert.equal(entryText({ message: { content: "a" } }), "a");
  assert.equal(entryText({ message: { content: [{ text: "a" }, null, { type: "image" }, { text: "b" }] } }), "a\nb");
  assert.equal(entryText({ summary: "s" }), "s");
  assert.deepEqual([entryText({}), entryText({ message: 5 }), entryText({ content: 7 })], ["", "", ""]);
});
