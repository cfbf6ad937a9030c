// Puts the parts together, nothing else.
import * as vscode from "vscode";
import { registerViews } from "./browse.ts";
import { AttachedDaemon } from "./daemon/attach.ts";
import type { Daemon } from "./daemon/daemon.ts";
import { registerLifecycle } from "./lifecycle.ts";
import { createLogs } from "./logs.ts";
import { onReconnectingChange } from "./settings.ts";
import { createStatus } from "./status.ts";
import { commandTitles } from "./titles.ts";
import { registerAutostart } from "./autostart.ts";

/** What other extensions, and tests, may use. */
export interface Exports {
  readonly daemon: Daemon;
}

let daemon: AttachedDaemon | undefined;

export function activate(context: vscode.ExtensionContext): Exports {
  const logs = createLogs();
  const attached = new AttachedDaemon(logs);
  daemon = attached;
  // A window in which the user disabled the daemon stays disabled, regardless of the settings.
  const reconsider = () => {
    if (attached.state.kind !== "stopped") {
      void attached.restart();
    }
  };
  context.subscriptions.push(
    logs,
    attached,
    registerLifecycle(attached, logs, context.extension),
    createStatus(attached, commandTitles(context.extension)),
    onReconnectingChange(reconsider),
    vscode.workspace.onDidGrantWorkspaceTrust(reconsider),
    registerViews(attached, context.workspaceState, context.extensionUri),
    registerAutostart(attached),
  );
  return { daemon: attached };
}

export async function deactivate(): Promise<void> {
  await daemon?.close();
}
