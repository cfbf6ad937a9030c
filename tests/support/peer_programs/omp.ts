// Runs the real oh-my-pi: bun --preload omp-libraries.ts omp.ts < request. Its folder stands in OMP_HOME.

import { answer, request } from "./answers.mjs";
import { countingIds, stopTheClock } from "./fixed.mjs";

if (request.ids !== undefined) {
  crypto.randomUUID = countingIds(request.ids) as typeof crypto.randomUUID;
  Bun.randomUUIDv7 = countingIds(request.ids) as typeof Bun.randomUUIDv7;
  stopTheClock();
}

const source = `${process.env.OMP_HOME}/node_modules/@oh-my-pi/pi-coding-agent/src`;
const { SessionManager } = await import(`${source}/session/session-manager.ts`);

await answer((file: string) => SessionManager.open(file));
