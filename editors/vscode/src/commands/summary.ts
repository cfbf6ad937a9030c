// Branching with a summary of the abandoned entries, written by the user or by a summarizer.
import * as vscode from "vscode";
import { count, notificationText, oneLine } from "../model/text.ts";
import type { BranchParams, PrepareBranchResult } from "../protocol.ts";
import { showInformation, showStatusMessage } from "../userMessages.ts";
import type { EntryTarget } from "../views/elements.ts";
import { withProgress } from "./progress.ts";
import type { Views } from "./target.ts";

interface SummaryItem extends vscode.QuickPickItem {
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
    showStatusMessage("Moved the leaf. No entries are abandoned, so there is no summary.");
    return;
  }
  const items: SummaryItem[] = [
    { label: "Write the Summary…", iconPath: new vscode.ThemeIcon("edit"), run: () => write(views, plan, branch) },
    {
      label: "Generate the Summary",
      description: "by an attached client or the configured command",
      iconPath: new vscode.ThemeIcon("sparkle"),
      run: () => generate(views, branch),
    },
    {
      label: "Copy the Prompt",
      description: "for a model of your choice; nothing is changed",
      iconPath: new vscode.ThemeIcon("copy"),
      run: () => copyPrompt(plan),
    },
  ];
  const chosen = await vscode.window.showQuickPick(items, {
    title: "Branch Here with Summary",
    placeHolder: `${count(plan.entryIdsToSummarize.length, "entry", "entries")} would be abandoned, about ${count(plan.tokens, "token")}.`,
  });
  await chosen?.run();
}

type MakeParams = (summary: Partial<BranchParams>) => BranchParams;

async function write(views: Views, plan: PrepareBranchResult, branch: MakeParams): Promise<void> {
  const changed = plan.fileOperations.modified.map((path) => oneLine(path)).join(", ");
  const summary = await vscode.window.showInputBox({
    title: "Branch Here with Summary",
    prompt: notificationText(`Summary of the abandoned entries${changed === "" ? "" : ` (changed: ${changed})`}`),
    validateInput: (value) => (value.trim() === "" ? "The summary must not be empty." : undefined),
    ignoreFocusOut: true,
  });
  if (summary !== undefined) {
    const { leafId } = await views.daemon.request("session/branch", branch({ summary: summary.trim() }));
    showStatusMessage(`The leaf is now ${leafId}, with a summary of the abandoned entries.`);
  }
}

async function generate({ daemon }: Views, branch: MakeParams): Promise<void> {
  const result = await withProgress(daemon, "Generating the summary", (workDoneToken, cancel) =>
    daemon.request("session/branch", branch({ summarize: true, workDoneToken }), cancel),
  );
  showInformation(`The leaf is now ${result.leafId}, with a summary of the abandoned entries.`);
}

async function copyPrompt(plan: PrepareBranchResult): Promise<void> {
  await vscode.env.clipboard.writeText(plan.prompt ?? "");
  showStatusMessage("Copied the prompt for the summary.");
}
