import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMessage, parseState, parseTarget } from "../../src/transcript/messages.ts";

test("messages of the document are parsed", () => {
  assert.deepEqual(parseMessage({ kind: "ready" }), { kind: "ready" });
  for (const act of ["open", "fork", "label"] as const) {
    assert.deepEqual(parseMessage({ kind: "act", act, entryId: "a1", more: 1 }), { kind: "act", act, entryId: "a1" });
  }
  assert.deepEqual(parseMessage({ kind: "at", entryId: "a1", act: "open" }), { kind: "at", entryId: "a1" });
});

test("invalid messages are dropped", () => {
  const invalid = [
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
    { kind: "at" },
    { kind: "at", entryId: "x".repeat(65) },
    { kind: "act", act: { toString: () => "open" }, entryId: "a1" },
  ];
  for (const message of invalid) {
    assert.equal(parseMessage(message), undefined);
  }
});

test("a state without the id of a session is dropped", () => {
  assert.deepEqual(parseState({ sessionId: "s", leafId: null }), { sessionId: "s" });
  for (const state of [undefined, null, "s", {}, { sessionId: 7 }, { sessionId: "" }, { sessionId: "x".repeat(129) }]) {
    assert.equal(parseState(state), undefined);
  }
});

test("the argument of a command has a session, and optionally an entry", () => {
  assert.deepEqual(parseTarget({ sessionId: "s" }), { sessionId: "s", preserveFocus: false });
  const entry = { sessionId: "s", entryId: "e", preserveFocus: true };
  assert.deepEqual(parseTarget({ kind: "entry", ...entry }), entry);
  assert.deepEqual(parseTarget({ sessionId: "s", entryId: 7, preserveFocus: 1 }), { sessionId: "s", preserveFocus: false });
  assert.equal(parseTarget(undefined), undefined);
  assert.equal(parseTarget({ entryId: "e" }), undefined);
});
