// Branching with a summary of the abandoned entries, written by the user or by a summarizer.
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { count, notificationText, oneLine } from "../model/text.ts";
import type { BranchParams, PrepareBranchResult } from "../protocol.ts";
import { showInformation, showStatusMessage } from "../userMessages.ts";
import type { EntryTarget } from "../views/elements.ts";
import type { Views } from "./target.ts";

interface Way extends vscode.QuickPickItem {
  run: () => Promise<void>;
}

export async function branchWithSummary(views: Views, target: EntryTarget): Promise<void> {
  const { sessionId, entryId } = target;
  const plan = await views.daemon.request("session/prepareBranch", { sessionId, entryId });
  const branch = (summary: Partial<BranchParams>): BranchParams => ({
    sessionId,
    entryId,
    ...(plan.previousLeafId === null ? {} : { expectedLeafId: plan.previousLeafId }),
    ...summary,
  });
  if (plan.entryIdsToSummarize.length === 0) {
    await views.daemon.request("session/branch", branch({}));
    showStatusMessage("Moved the leaf here. No entries were left behind, so no summary is needed.");
    return;
  }
  const ways: Way[] = [
    { label: "Write the Summary…", iconPath: new vscode.ThemeIcon("edit"), run: () => written(views, plan, branch) },
    {
      label: "Have It Written",
      description: "by an attached client or the configured command",
      iconPath: new vscode.ThemeIcon("sparkle"),
      run: () => haveWritten(views, branch),
    },
    {
      label: "Copy the Prompt",
      description: "for a model of your choice; nothing is changed",
      iconPath: new vscode.ThemeIcon("copy"),
      run: () => copyPrompt(plan),
    },
  ];
  const chosen = await vscode.window.showQuickPick(ways, {
    title: "Branch Here with Summary",
    placeHolder: `${count(plan.entryIdsToSummarize.length, "entry is", "entries are")} left behind, about ${count(plan.tokens, "token")}.`,
  });
  await chosen?.run();
}

type Branching = (summary: Partial<BranchParams>) => BranchParams;

async function written(views: Views, plan: PrepareBranchResult, branch: Branching): Promise<void> {
  const changed = plan.fileOperations.modified.map((path) => oneLine(path)).join(", ");
  const summary = await vscode.window.showInputBox({
    title: "Branch Here with Summary",
    prompt: notificationText(`What was left behind${changed === "" ? "" : ` (changed: ${changed})`}`),
    validateInput: (value) => (value.trim() === "" ? "A summary has words." : undefined),
    ignoreFocusOut: true,
  });
  if (summary !== undefined) {
    const { leafId } = await views.daemon.request("session/branch", branch({ summary: summary.trim() }));
    showStatusMessage(`The leaf is now ${leafId}, with a summary of what was left.`);
  }
}

async function haveWritten({ daemon }: Views, branch: Branching): Promise<void> {
  const token = `branch-${randomUUID()}`;
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: "A summary is being written",
    cancellable: true,
  };
  const result = await vscode.window.withProgress(options, async (progress, cancel) => {
    const subscription = daemon.onNotification("$/progress", (note) => {
      if (note.token === token && note.value.message) {
        progress.report({ message: notificationText(note.value.message) });
      }
    });
    try {
      return await daemon.request("session/branch", branch({ summarize: true, workDoneToken: token }), cancel);
    } finally {
      subscription.dispose();
    }
  });
  showInformation(`The leaf is now ${result.leafId}, with a summary of what was left.`);
}

async function copyPrompt(plan: PrepareBranchResult): Promise<void> {
  await vscode.env.clipboard.writeText(plan.prompt ?? "");
  showStatusMessage("Copied the prompt for the summary.");
}
