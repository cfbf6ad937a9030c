// Has the real pi write the story into a session file, and prints the file. Run by scripts/record-peers.

import crypto from "node:crypto";
import { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";
import { countingIds, stopTheClock } from "../../support/peer_programs/fixed.mjs";
import { cwd, tell } from "./story.mjs";

crypto.randomUUID = countingIds(1);
syncBuiltinESMExports();
stopTheClock("2026-11-02T09:14:07.000Z", 4000);

const { SessionManager } = await import(pathToFileURL(`${process.env.PI_PACKAGE}/dist/bundle/index.js`).href);

const session = SessionManager.create(cwd, tmpdir(), { id: "019a43c0-7d18-7c5e-9b1a-5c1d0f6e2a41" });
await tell({
  message: (message) => session.appendMessage(message),
  model: ({ provider, modelId }) => session.appendModelChange(provider, modelId),
  thinking: (level) => session.appendThinkingLevelChange(level),
  label: (id, label) => session.appendLabelChange(id, label),
  branch: (id, summary) => session.branchWithSummary(id, summary),
  compaction: (summary, firstKept, tokens) => session.appendCompaction(summary, firstKept, tokens),
  title: (title) => session.appendSessionInfo(title),
});
process.stdout.write(readFileSync(session.getSessionFile()));
