// The questions to both peers, and the form of their answers. The two programs differ only in how the real
// package is loaded: see pi.mjs and omp.ts. One request as JSON on stdin, one reply as JSON on stdout.
//
// Request: {file, at?: [id | null | "current", ...] | "everywhere", steps?: [[method, ...arguments], ...], ids?: seed}
//   at       the leafs to look from: null is before the first entry, "everywhere" is the current one and every entry
//   steps    methods of the peer's own SessionManager, called in order after looking;
//            {"result": n} among the arguments stands for what step n returned
//   ids      ids and clock of the peer become the same in every run, the ids counted from this number
// Reply: {rewroteAtOpen, openError} or {rewroteAtOpen, header, sessionName, entryIds, leafId, roots, parents, labels,
//   at: {<name>: {leafId, path, messages, settings} | {leafId, error}}} and with steps also {results, written} or
//   {results, stepError}, where `written` is the text of the session file that the peer then holds.

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
  const seen = { header: manager.getHeader(), sessionName: manager.getSessionName() ?? null, entryIds, leafId };
  Object.assign(seen, family(manager), { labels: Object.create(null), at: Object.create(null) });
  for (const id of entryIds) {
    const label = manager.getLabel(id);
    if (label !== undefined) seen.labels[id] = label;
  }
  const asked = request.at === "everywhere" ? ["current", ...new Set(entryIds)] : (request.at ?? []);
  for (const id of asked) {
    moveTo(manager, id === "current" ? leafId : id);
    seen.at[id] = whatTheModelSees(manager);
  }
  if (asked.length > 0) moveTo(manager, leafId);
  return seen;
}

function moveTo(manager, leafId) {
  if (leafId === null) manager.resetLeaf();
  else manager.branch(leafId);
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

/** The tree as the peer's getTree has it. Chains can be thousands long, and with damaged files it may be no tree. */
function family(manager) {
  try {
    const trees = manager.getTree();
    const parents = Object.create(null);
    const waiting = trees.map((node) => [node, null]);
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [node, parent] = next;
      if (Object.hasOwn(parents, node.entry.id)) continue;
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
  return { results: results.map((value) => value ?? null), written: readFileSync(manager.getSessionFile(), "utf8") };
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
