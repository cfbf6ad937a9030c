// Puts the parts together, nothing else.
import * as vscode from "vscode";
import { AttachedDaemon } from "./daemon/attach.ts";

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("sessiond", { log: true });
  const daemon = new AttachedDaemon(log);
  context.subscriptions.push(
    log,
    daemon,
    vscode.commands.registerCommand("sessiond.showClientLog", () => log.show()),
  );
}
