// What both peers are asked, and how their answers are written down. The two programs differ only in how the real
// package is loaded: see pi.mjs and omp.ts. One request as JSON on stdin, one reply as JSON on stdout.
//
// Request: {file, at?: [id | null, ...] | "everywhere", steps?: [[method, ...arguments], ...], ids?: seed}
//   steps    methods of the peer's own SessionManager, called in order on the opened file;
//            {"result": n} among the arguments stands for what step n returned
//   at       further leafs to answer for; "everywhere" means every entry
//   ids      ids and clock of the peer become the same in every run, the ids counted from this number
// Reply: {openError} or {header, entryIds, leafId, at: {current, <id>...}, roots, parents, labels, sessionName,
//   results, writtenTo, stepError?}. What is answered for is the file before any step.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { text } from "node:stream/consumers";

/** The request, read once; pi.mjs and omp.ts need it before they load the package when `ids` is set. */
export const request = JSON.parse(await text(process.stdin));

/** Answer the request with `open(file)`, which gives the peer's SessionManager for a file. */
export async function answer(open) {
  const { file } = request;
  const before = hash(file);
  const reply = {};
  let manager;
  try {
    manager = await open(file);
  } catch (error) {
    reply.openError = withoutPaths(error);
  }
  reply.rewroteAtOpen = hash(file) !== before;
  if (manager) {
    Object.assign(reply, lookAt(manager));
    if (request.steps) Object.assign(reply, await perform(manager, request.steps));
  }
  // Written at once and waited for: a peer may leave timers behind that would keep its process alive.
  process.stdout.write(JSON.stringify(reply), () => process.exit(0));
}

function lookAt(manager) {
  const leafId = manager.getLeafId();
  const entryIds = manager.getEntries().map((entry) => entry.id);
  const seen = { header: manager.getHeader(), entryIds, leafId, at: { current: whatTheModelSees(manager) } };
  Object.assign(seen, { sessionName: manager.getSessionName() ?? null, ...family(manager) });
  seen.labels = {};
  for (const id of entryIds) {
    const label = manager.getLabel(id);
    if (label !== undefined) seen.labels[id] = label;
  }
  const asked = request.at === "everywhere" ? [...new Set(entryIds)] : (request.at ?? []);
  for (const id of asked) {
    if (id === null) manager.resetLeaf();
    else manager.branch(id);
    seen.at[id] = whatTheModelSees(manager);
  }
  if (asked.length > 0) leafId === null ? manager.resetLeaf() : manager.branch(leafId);
  return seen;
}

function whatTheModelSees(manager) {
  try {
    const leafId = manager.getLeafId();
    const path = leafId === null ? [] : manager.getBranch().map((entry) => entry.id);
    const { messages, ...settings } = manager.buildSessionContext();
    return { leafId, path, messages, settings };
  } catch (error) {
    return { leafId: manager.getLeafId(), error: withoutPaths(error) };
  }
}

/** The tree as the peer's getTree has it, walked without recursion because chains can be thousands long. */
function family(manager) {
  try {
    const trees = manager.getTree();
    const parents = {};
    const waiting = trees.map((node) => [node, null]);
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [node, parent] = next;
      parents[node.entry.id] = parent;
      for (const child of node.children) waiting.push([child, node.entry.id]);
    }
    return { roots: trees.map((node) => node.entry.id), parents };
  } catch (error) {
    return { treeError: withoutPaths(error) };
  }
}

async function perform(manager, steps) {
  const results = [];
  try {
    for (const [method, ...given] of steps) {
      results.push(await manager[method](...given.map((value) => filledIn(value, results))));
    }
    await manager.flush?.();
  } catch (error) {
    return { results, stepError: withoutPaths(error) };
  }
  return { results: results.map((value) => value ?? null), writtenTo: manager.getSessionFile() ?? null };
}

function filledIn(value, results) {
  return value !== null && typeof value === "object" && "result" in value ? results[value.result] : value;
}

function hash(file) {
  return existsSync(file) ? createHash("sha256").update(readFileSync(file)).digest("hex") : null;
}

function withoutPaths(error) {
  return String(error?.message ?? error).replaceAll(/(?:\/[^\s/"':]+)+/g, "<path>");
}
