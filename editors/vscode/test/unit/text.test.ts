import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, pathOf, type Address } from "../../src/model/addresses.ts";
import { searchQuery } from "../../src/model/searchQuery.ts";
import { ago, code, count, fenced, fit, markdown, oneLine, quickPickText, notificationText } from "../../src/model/text.ts";
import { randomIntegers } from "./support/randomIntegers.ts";

test("a line has no invisible characters", () => {
  assert.equal(oneLine("a\u001b[31mred\u001b[0m\tb\r\n c\u2028d"), "ared b c d");
  assert.equal(oneLine("\u001b]0;title\u0007shown"), "shown");
  assert.equal(oneLine("ev\u202eil\u2066\u200b\ufeff\u{e0041}"), "evil");
  assert.equal(oneLine("half \ud800 a character"), "half \ufffd a character");
  assert.equal(oneLine("👩‍🔬 and 日本語"), "👩‍🔬 and 日本語");
  assert.deepEqual([null, undefined, 5, {}].map(oneLine), ["", "", "", ""]);
});

test("any text becomes one line without invisible characters", () => {
  const random = randomIntegers(7);
  for (let round = 0; round < 500; round++) {
    const codes = Array.from({ length: random(30) }, () => random(3) === 0 ? random(0x3000) : random(256));
    const line = oneLine(String.fromCharCode(...codes));
    assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u2028\u2029]/);
    assert.equal(oneLine(line), line);
  }
});

test("a text is cut between code points", () => {
  assert.equal(fit("short", 5), "short");
  assert.equal(fit("👍👍👍👍", 3), "👍👍…");
  assert.equal(fit("👍👍👍", 3), "👍👍👍");
});

test("text that is escaped for Markdown has no markup", () => {
  const hostile = "[x](command:quit) <img src=x> **b** `c` https://evil.example www.evil.example $(bug) a@b.c &lt;";
  const shown = markdown(hostile);
  assert.doesNotMatch(shown.replace(/&#\d+;/g, ""), /[[\]()<>*`:/.$@&;]/);
  const read = shown.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
  assert.equal(read, hostile);
});

test("a fence is longer than those in the text", () => {
  assert.equal(fenced("a"), "```text\na\n```");
  assert.equal(fenced("````\n``"), "`````text\n````\n``\n`````");
});

test("a code span contains any text", () => {
  assert.deepEqual(["a", "a`b", "", "a|b\nc"].map(code), ["`a`", "`` a`b ``", "`  `", "`a¦b c`"]);
});

test("in messages and quick picks, text makes no links and no icons", () => {
  assert.equal(quickPickText("[go](command:quit) $(bug)"), "[go] (command:quit) \\$(bug)");
  assert.equal(notificationText("[go](command:quit)\nmore"), "[go] (command:quit) more");
});

test("times are shown as ages", () => {
  const now = Date.parse("2026-03-01T12:00:00.000Z");
  const ageOf = (timestamp: string | null): string => ago(timestamp, now);
  assert.equal(ageOf("2026-03-01T11:59:30.000Z"), "now");
  assert.equal(ageOf("2026-03-01T11:55:00.000Z"), "5m");
  assert.equal(ageOf("2026-03-01T09:00:00.000Z"), "3h");
  assert.equal(ageOf("2026-02-27T12:00:00.000Z"), "2d");
  assert.equal(ageOf("2025-11-01T12:00:00.000Z"), "4mo");
  assert.equal(ageOf("2023-03-01T12:00:00.000Z"), "3y");
  assert.equal(ageOf("2030-01-01T00:00:00.000Z"), "now");
  assert.deepEqual([null, "", "never"].map(ageOf), ["", "", ""]);
});

test("a count of one is singular", () => {
  assert.deepEqual([count(1, "entry", "entries"), count(0, "entry", "entries"), count(2, "day")], ["1 entry", "0 entries", "2 days"]);
});

test("an address is parsed back, and invalid paths are not addresses", () => {
  const ids = ["a1", "../../etc/passwd", "a/b", "%2e%2e", "..", "ä ?#", "x.md"];
  for (const sessionId of ids) {
    for (const entryId of ids) {
      for (const kind of ["entry", "path", "context"] as const) {
        const address: Address = { kind, sessionId, entryId };
        assert.deepEqual(addressOf(pathOf(address)), address);
        assert.equal(pathOf(address).split("/").length, 4);
        assert.doesNotMatch(pathOf(address).replace(/\.md$/, ""), /\./);
      }
      const compared: Address = { kind: "compare", sessionId, leftId: entryId, rightId: sessionId };
      assert.deepEqual(addressOf(pathOf(compared)), compared);
    }
  }
  for (const path of ["", "/", "/entry/s.md", "/entry/s/e/more.md", "/other/s/e.md", "/compare/s/l.md", "/entry/%/e.md", "/entry//e.md"]) {
    assert.equal(addressOf(path), undefined, path);
  }
});

test("while the user types, the last word matches as a prefix", () => {
  assert.equal(searchQuery("pars"), "pars*");
  assert.equal(searchQuery("parser "), "parser");
  assert.equal(searchQuery('"last li'), '"last li"');
  assert.equal(searchQuery('"last line"'), '"last line"');
  assert.equal(searchQuery("pars*"), "pars*");
  assert.deepEqual(["", "  ", "?!", '"'].map(searchQuery), ["", "", "", ""]);
});
