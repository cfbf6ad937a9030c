import assert from "node:assert/strict";
import { test } from "node:test";
import { environmentOf, followableAgents } from "../../src/model/followable.ts";
import type { AgentInfo } from "../../src/protocol.ts";

const NOW = Date.parse("2026-01-01T01:00:00.000Z");

const agent = (more: Partial<AgentInfo>): AgentInfo =>
  ({ name: "codex", title: "Codex", format: "codex", fileCount: 2, isFollowed: false, lastWrittenAt: "2026-01-01T00:00:00.000Z", ...more }) as AgentInfo;

test("agents with sessions that can be read are offered, with what they have", () => {
  const found = followableAgents([agent({}), agent({ name: "crush", format: null }), agent({ name: "qwen", fileCount: 0 })], NOW);
  assert.deepEqual(found, [{ name: "codex", title: "Codex", note: "2 sessions · 1h ago", isFollowed: false }]);
});

test("a followed agent is offered also without sessions", () => {
  const [found] = followableAgents([agent({ fileCount: 0, lastWrittenAt: null, isFollowed: true })], NOW);
  assert.deepEqual(found, { name: "codex", title: "Codex", note: "0 sessions", isFollowed: true });
});

test("the variables that move folders of agents are those that are set", () => {
  const agents = [agent({ variables: ["CODEX_HOME"] }), agent({ variables: ["XDG_DATA_HOME"] })];
  const found = environmentOf(agents, { HOME: "/home/ada", CODEX_HOME: "/work/codex", XDG_DATA_HOME: "", PATH: "/bin" });
  assert.deepEqual(found, { HOME: "/home/ada", CODEX_HOME: "/work/codex" });
});
