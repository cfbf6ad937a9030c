// The last row of a view that hides automated sessions: their number, and a click that shows them.
import * as vscode from "vscode";
import { hiddenLabel } from "../model/automated.ts";

export function hiddenItem(amount: number): vscode.TreeItem {
  const item = new vscode.TreeItem(hiddenLabel(amount));
  item.id = "hidden";
  item.iconPath = new vscode.ThemeIcon("eye-closed");
  item.contextValue = "hidden";
  item.tooltip = "Sessions whose prompts a program gave, such as claude -p or codex exec. A click shows them.";
  item.command = { command: "sessiond.sessions.showAutomated", title: "Show Automated Sessions" };
  return item;
}
