// Runs the real pi: node pi.mjs < request. The folder of its package stands in PI_PACKAGE.

import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { pathToFileURL } from "node:url";
import { answer, request } from "./answers.mjs";
import { countingIds, stopTheClock } from "./fixed.mjs";

if (request.ids !== undefined) {
  crypto.randomUUID = countingIds(request.ids);
  syncBuiltinESMExports();
  stopTheClock();
}

const { SessionManager } = await import(pathToFileURL(`${process.env.PI_PACKAGE}/dist/bundle/index.js`).href);

await answer((file) => SessionManager.open(file));
