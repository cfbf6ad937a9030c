// Times the real peers on one session file: import, open, first context, and the median of further ones, in ms.
// Runs with pi's and oh-my-pi's own runtime; the folder of the package stands in PI_PACKAGE or OMP_HOME.

import { performance } from "node:perf_hooks";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const { peer, file, rounds } = JSON.parse(await text(process.stdin));
const modules = {
  pi: `${process.env.PI_PACKAGE}/dist/bundle/index.js`,
  omp: `${process.env.OMP_HOME}/node_modules/@oh-my-pi/pi-coding-agent/src/session/session-manager.ts`,
};

const begun = performance.now();
const { SessionManager } = await import(pathToFileURL(modules[peer]).href);
const imported = performance.now();
const manager = await SessionManager.open(file);
const opened = performance.now();
let { messages } = manager.buildSessionContext();
const first = performance.now() - opened;
const further = [];
for (let round = 0; round < rounds; round++) {
  const start = performance.now();
  ({ messages } = manager.buildSessionContext());
  further.push(performance.now() - start);
}
further.sort((one, other) => one - other);
const reply = {
  import: imported - begun,
  open: opened - imported,
  first,
  warm: further[further.length >> 1],
  messages: messages.length,
};
process.stdout.write(JSON.stringify(reply), () => process.exit(0));
