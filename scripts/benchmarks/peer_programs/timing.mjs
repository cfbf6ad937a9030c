// Times one thing that the real peers do, in ms: {"peer": "pi" | "omp", "task": …, "file": …, "rounds": n} on stdin.
// Runs with pi's and oh-my-pi's own runtime; the folder of the package stands in PI_PACKAGE or OMP_HOME.
//
//   open    open a session file (once: a second time would find what the first has loaded)
//   list    list the sessions of a folder (once)
//   tree    make the whole tree of a session file that is open
//   append  append a message to a session file that is open

import { performance } from "node:perf_hooks";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const { peer, task, file, rounds } = JSON.parse(await text(process.stdin));
const modules = {
  pi: `${process.env.PI_PACKAGE}/dist/bundle/index.js`,
  omp: `${process.env.OMP_HOME}/node_modules/@oh-my-pi/pi-coding-agent/src/session/session-manager.ts`,
};
const { SessionManager } = await import(pathToFileURL(modules[peer]).href);
const message = { role: "user", content: "x".repeat(1_000), timestamp: 1_767_225_600_000 };

const tasks = {
  open: async () => [await timed(async () => (await SessionManager.open(file)).getEntries().length)],
  list: async () => [await timed(async () => (await SessionManager.list("/tmp", file)).length)],
  tree: async () => {
    const manager = await SessionManager.open(file);
    return repeated(() => manager.getTree().length);
  },
  append: async () => {
    const manager = await SessionManager.open(file);
    return repeated(() => manager.appendMessage(message).length);
  },
};

const outcomes = await tasks[task]();
const reply = { times: outcomes.map(({ took }) => took), size: outcomes[0].size };
process.stdout.write(JSON.stringify(reply), () => process.exit(0));

async function repeated(work) {
  const outcomes = [];
  for (let round = 0; round < rounds; round++) outcomes.push(await timed(work));
  return outcomes;
}

async function timed(work) {
  const start = performance.now();
  const size = await work();
  return { took: performance.now() - start, size };
}
