import assert from "node:assert/strict";
import { test } from "node:test";
import { chosen, parseState, parseMessage } from "../../src/transcript/messages.ts";

test("what the document says is understood", () => {
  assert.deepEqual(parseMessage({ kind: "ready" }), { kind: "ready" });
  for (const act of ["open", "fork", "label"] as const) {
    assert.deepEqual(parseMessage({ kind: "act", act, entryId: "a1", more: 1 }), { kind: "act", act, entryId: "a1" });
  }
});

test("nothing else is", () => {
  const odd = [
    undefined,
    null,
    7,
    "ready",
    [],
    {},
    { kind: "act" },
    { kind: "act", act: "delete", entryId: "a1" },
    { kind: "act", act: "open", entryId: 7 },
    { kind: "act", act: "open", entryId: "" },
    { kind: "act", act: "open", entryId: "x".repeat(65) },
    { kind: "act", act: { toString: () => "open" }, entryId: "a1" },
  ];
  for (const message of odd) {
    assert.equal(parseMessage(message), undefined);
  }
});

test("a state without the id of a session is none", () => {
  assert.deepEqual(parseState({ sessionId: "s", leafId: null }), { sessionId: "s" });
  for (const state of [undefined, null, "s", {}, { sessionId: 7 }, { sessionId: "" }, { sessionId: "x".repeat(129) }]) {
    assert.equal(parseState(state), undefined);
  }
});

test("a command is given a session, and perhaps an entry of it", () => {
  assert.deepEqual(chosen({ sessionId: "s" }), { sessionId: "s" });
  assert.deepEqual(chosen({ sessionId: "s", entryId: "e" }), { sessionId: "s", entryId: "e" });
  assert.deepEqual(chosen({ sessionId: "s", entryId: 7 }), { sessionId: "s" });
  assert.equal(chosen(undefined), undefined);
  assert.equal(chosen({ entryId: "e" }), undefined);
});
