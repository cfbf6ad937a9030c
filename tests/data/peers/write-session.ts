// Has the real oh-my-pi write the story into a session file, and prints the file. Run by scripts/record-peers.

import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { countingIds, stopTheClock } from "../../support/peer_programs/fixed.mjs";
import { cwd, tell } from "./story.mjs";

crypto.randomUUID = countingIds(1) as typeof crypto.randomUUID;
Bun.randomUUIDv7 = (() => "019a43c0-7d18-7c5e-9b1a-5c1d0f6e2a42") as typeof Bun.randomUUIDv7;
stopTheClock("2026-11-02T09:14:07.000Z", 2000);

const source = `${process.env.OMP_HOME}/node_modules/@oh-my-pi/pi-coding-agent/src`;
const { SessionManager } = await import(`${source}/session/session-manager.ts`);

const session = SessionManager.create(cwd, tmpdir());
await tell({
  message: (message: unknown) => session.appendMessage(message),
  model: ({ provider, modelId }) => session.appendModelChange(`${provider}/${modelId}`, "default"),
  thinking: (level: string) => session.appendThinkingLevelChange(level),
  label: (id: string, label: string) => session.appendLabelChange(id, label),
  branch: (id: string, summary: string) => session.branchWithSummary(id, summary),
  compaction: (summary: string, firstKept: string, tokens: number) =>
    session.appendCompaction(summary, undefined, firstKept, tokens),
  title: (title: string) => session.setSessionName(title, "user"),
});
await session.flush();
process.stdout.write(readFileSync(session.getSessionFile()), () => process.exit(0));
