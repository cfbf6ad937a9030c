// Prints the counts of pi for a session, and its cost by model: node pi-statistics.mjs < {"file": …}. The counting is
// that of AgentSession and of its footer; nothing else of an AgentSession is needed for it.

import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const { file } = JSON.parse(await text(process.stdin));
const pi = (path) => import(pathToFileURL(`${process.env.PI_PACKAGE}/dist/${path}`).href);
const { AgentSession, SessionManager } = await pi("bundle/index.js");
const { getUsageCostBreakdown } = await pi("core/usage-totals.js");

const sessionManager = SessionManager.open(file);
const asked = { sessionManager, getContextUsage: () => undefined };
const { sessionFile, sessionId, ...counted } = AgentSession.prototype.getSessionStats.call(asked);
const models = getUsageCostBreakdown(sessionManager.getEntries());
process.stdout.write(JSON.stringify({ ...counted, models }), () => process.exit(0));
