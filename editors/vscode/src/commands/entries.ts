// Commands for an entry. The views update when the daemon announces the change, whichever client caused it.
import * as vscode from "vscode";
import { showLine } from "../lines.ts";
import { entryText } from "../model/contextDocument.ts";
import type { Address } from "../model/addresses.ts";
import { count, fit, notificationText, oneLine, summed } from "../model/text.ts";
import { textOf, titleOf } from "../model/words.ts";
import { openDocument } from "../preview.ts";
import { showInformation, showStatusMessage } from "../userMessages.ts";
import { showInTree } from "./opening.ts";
import { branchWithSummary } from "./summary.ts";
import type { EntryTarget } from "../views/elements.ts";
import { type Command, onEntry, sessionOf, type Views } from "./target.ts";

const MAX_LABEL_LENGTH = 1000;

export function entryCommands(views: Views): Record<string, Command> {
  const command = (run: (views: Views, target: EntryTarget) => Promise<unknown>): Command =>
    onEntry(views, (target) => run(views, target));
  return {
    "sessiond.revealEntry": command(revealEntry),
    "sessiond.previewEntry": command((_, target) => openDocument(documentOf("entry", target))),
    "sessiond.showContext": command((_, target) => openDocument(documentOf("context", target))),
    "sessiond.showInTree": command(showInTree),
    "sessiond.branchHere": command(branchHere),
    "sessiond.branchWithSummary": command(branchWithSummary),
    "sessiond.forkHere": command((_, target) => fork(views, target, "at")),
    "sessiond.forkBefore": command((_, target) => fork(views, target, "before")),
    "sessiond.setLabel": command(setLabel),
    "sessiond.removeLabel": command((_, target) => label(views, target, "")),
    "sessiond.copyEntryId": command((_, { entryId }) => copy(entryId, `Copied ${entryId}.`)),
    "sessiond.copyEntryText": command(copyText),
    "sessiond.copyPath": command(copyPath),
  };
}

function documentOf(kind: "entry" | "context", { sessionId, entryId }: EntryTarget): Address {
  return { kind, sessionId, entryId };
}

async function revealEntry(views: Views, target: EntryTarget): Promise<void> {
  const { path } = await sessionOf(views, target.sessionId);
  if (path === null) {
    await openDocument(documentOf("entry", target)); // an ephemeral session has no file
    return;
  }
  const row = views.tree.model?.sessionId === target.sessionId ? views.tree.model.rows.get(target.entryId) : undefined;
  const seq = row?.seq ?? (await seqOf(views, target));
  try {
    await showLine(path, seq, target.entryId, target.preserveFocus ?? false);
  } catch {
    // The file is too large for an editor, was moved, or does not have that line.
    await openDocument(documentOf("entry", target));
  }
}

async function seqOf({ daemon }: Views, { sessionId, entryId }: EntryTarget): Promise<number> {
  const { items } = await daemon.request("session/entries", { sessionId, entryIds: [entryId] });
  return items[0]?.seq ?? 0;
}

async function branchHere({ daemon }: Views, { sessionId, entryId }: EntryTarget): Promise<void> {
  const { leafId, previousLeafId } = await daemon.request("session/branch", { sessionId, entryId });
  if (leafId === previousLeafId) {
    showStatusMessage("The leaf is already at this entry.");
    return;
  }
  showInformation(`The leaf is now ${leafId}.`, {
    Undo: () => daemon.request("session/branch", { sessionId, entryId: previousLeafId, expectedLeafId: leafId }),
  });
}

async function fork(
  { daemon, current }: Views,
  { sessionId, entryId }: EntryTarget,
  position: "at" | "before",
): Promise<void> {
  const { session } = await daemon.request("session/fork", { sessionId, leafId: entryId, position });
  current.show(session);
  showInformation(`Forked into “${titleOf(session)}”. The Tree shows the fork.`, {
    "Show the Original": () => current.open({ sessionId }),
  });
}

async function setLabel(views: Views, target: EntryTarget): Promise<void> {
  const { model } = views.tree;
  const row = model?.sessionId === target.sessionId ? model.rows.get(target.entryId) : undefined;
  const entered = await vscode.window.showInputBox({
    title: "Set Label",
    prompt: notificationText(`Label for ${row === undefined ? target.entryId : `“${fit(textOf(row), 60)}”`}. Leave empty to remove it.`),
    value: oneLine(row?.label),
    validateInput: (value) => (value.length > MAX_LABEL_LENGTH ? `At most ${MAX_LABEL_LENGTH} characters.` : undefined),
  });
  if (entered !== undefined) {
    await label(views, target, entered.trim());
  }
}

async function label({ daemon }: Views, { sessionId, entryId }: EntryTarget, text: string): Promise<void> {
  await daemon.request("session/label", { sessionId, entryId, label: text });
  showStatusMessage(text === "" ? `Removed the label of ${entryId}.` : `Labeled ${entryId} as [${text}].`);
}

async function copy(text: string, message: string): Promise<void> {
  await vscode.env.clipboard.writeText(text);
  showStatusMessage(message);
}

async function copyText({ daemon }: Views, { sessionId, entryId }: EntryTarget): Promise<void> {
  const { items } = await daemon.request("session/entries", { sessionId, entryIds: [entryId], resolveBlobs: true });
  const text = entryText((items[0]?.entry ?? {}) as Readonly<Record<string, unknown>>);
  await copy(text, `Copied ${Array.from(text).length} characters.`);
}

async function copyPath({ daemon }: Views, { sessionId, entryId }: EntryTarget): Promise<void> {
  const path = await daemon.request("session/export", { sessionId, leafId: entryId, format: "markdown" });
  const secrets = summed(path.redactedCounts);
  const redacted = secrets === 0 ? "" : ` ${count(secrets, "secret was", "secrets were")} redacted.`;
  await copy(path.text ?? "", `Copied the path to ${entryId} as Markdown.${redacted}`);
}
