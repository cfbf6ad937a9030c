// Commands that compare two paths of a session.
import * as vscode from "vscode";
import { comparedSentence } from "../model/compared.ts";
import { openDocument, uriOf } from "../preview.ts";
import { showInformation, showStatusMessage } from "../userMessages.ts";
import type { EntryTarget } from "../views/elements.ts";
import { type Command, onEntry, type Views } from "./target.ts";

export function comparingCommands(views: Views): Record<string, Command> {
  let selected: EntryTarget | undefined;
  const select = async (target: EntryTarget): Promise<void> => {
    selected = target;
    await vscode.commands.executeCommand("setContext", "sessiond.compare", true);
    showStatusMessage(`Selected ${target.entryId}. Choose the entry to compare it with.`);
  };
  return {
    "sessiond.selectForCompare": onEntry(views, select),
    "sessiond.compareWithSelected": onEntry(views, async (target) => {
      if (selected?.sessionId === target.sessionId) {
        await compare(views, selected, target.entryId);
      } else {
        showInformation("Select an entry of this session for compare first. Entries of two sessions cannot be compared.");
      }
    }),
    "sessiond.compareWithLeaf": onEntry(views, async (target) => {
      const tip = views.tree.model?.sessionId === target.sessionId ? views.tree.model.leafId : null;
      if (tip === null || tip === target.entryId) {
        showInformation("There is nothing to compare: this entry is the leaf.");
      } else {
        await compare(views, target, tip);
      }
    }),
  };
}

async function compare({ daemon }: Views, { sessionId, entryId: leftId }: EntryTarget, rightId: string): Promise<void> {
  const compared = await daemon.request("session/compare", { sessionId, leftId, rightId });
  const path = (entryId: string): vscode.Uri => uriOf({ kind: "path", sessionId, entryId });
  await vscode.commands.executeCommand("vscode.diff", path(leftId), path(rightId), `${leftId} ↔ ${rightId}`, {
    preview: true,
  });
  showInformation(comparedSentence(compared), {
    "Show Figures": () => openDocument({ kind: "compare", sessionId, leftId, rightId }),
  });
}
