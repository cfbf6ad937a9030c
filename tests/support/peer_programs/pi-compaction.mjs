// Prints the compaction that pi would make: node pi-compaction.mjs < request. The folder of its package is PI_PACKAGE.
//
// Request: {file, keep: [tokens, ...], moves: [[old leaf, target, budget], ...]}
// Reply, all of it seen from the leaf that pi has for the file:
//   leaf         where pi goes on
//   estimates    [[entry, tokens], ...] of each message in the context
//   rendered     [[entry, text], ...]: each message as pi's summariser is shown it
//   cuts         for each `keep`: {keep, kept, summarized, prefix, tokens, previous, read, modified} or {keep, refused}
//   moves        for each move: {move, left, ancestor, count, tokens, read, modified}
//
// prepareCompaction is not among what pi's bundle offers, but AgentSession hands its answer to extensions: so one is
// there that looks at it and cancels. Nothing else of an AgentSession is needed for that.

import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const { file, keep, moves } = JSON.parse(await text(process.stdin));
const pi = await import(pathToFileURL(`${process.env.PI_PACKAGE}/dist/bundle/index.js`).href);

const manager = pi.SessionManager.open(file);
const { entries } = pi.buildSessionProjection(manager.getBranch());
const reply = {
  leaf: manager.getLeafId(),
  estimates: ofMessages((message) => pi.estimateTokens(message)),
  rendered: ofMessages((message) => pi.serializeConversation(pi.convertToLlm([message]))),
  cuts: [],
  moves: moves.map(moveTo),
};
for (const tokens of keep) reply.cuts.push({ keep: tokens, ...(await cutFor(tokens)) });
process.stdout.write(JSON.stringify(reply), () => process.exit(0));

function ofMessages(answer) {
  return entries.flatMap((entry) => entry.messages.map((message) => [entry.sourceEntry.id, answer(message)]));
}

async function cutFor(keepRecentTokens) {
  let found;
  const session = {
    model: {},
    sessionManager: manager,
    settingsManager: { getCompactionSettings: () => ({ ...pi.DEFAULT_COMPACTION_SETTINGS, keepRecentTokens }) },
    _extensionRunner: {
      hasHandlers: () => true,
      emit: async ({ preparation }) => {
        found ??= preparation;
        return { cancel: true };
      },
    },
    abort: async () => {},
    _emit: () => {},
    _clearManualCompactionState: () => {},
    _emitSessionCompactFailed: async () => {},
  };
  try {
    await pi.AgentSession.prototype.compact.call(session);
  } catch (error) {
    if (!found) return { refused: /Already/.test(error.message) ? "alreadyCompacted" : "nothingToSummarize" };
  }
  const count = found.messagesToSummarize.length;
  return {
    kept: found.firstKeptEntryId,
    summarized: speakers().slice(0, count + found.turnPrefixMessages.length),
    prefix: speakers().slice(count, count + found.turnPrefixMessages.length),
    tokens: found.tokensBefore,
    previous: found.previousSummary ?? null,
    ...files(found.fileOps),
  };
}

/** The entries of the messages that can be summarised, the oldest first. */
function speakers() {
  return entries
    .filter((entry) => entry.sourceEntry.type !== "compaction")
    .flatMap((entry) => entry.messages.filter(({ role }) => role !== "system").map(() => entry.sourceEntry.id));
}

function moveTo(move) {
  const [oldLeaf, target, budget] = move;
  const left = pi.collectEntriesForBranchSummary(manager, oldLeaf, target);
  const { messages, fileOps, totalTokens } = pi.prepareBranchEntries(left.entries, budget);
  return {
    move,
    left: left.entries.map((entry) => entry.id),
    ancestor: left.commonAncestorId,
    count: messages.length,
    tokens: totalTokens,
    ...files(fileOps),
  };
}

function files({ read, written, edited }) {
  const modified = new Set([...written, ...edited]);
  return { read: [...read].filter((path) => !modified.has(path)).sort(), modified: [...modified].sort() };
}
