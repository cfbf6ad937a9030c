// Activates the extension: creates its parts and connects them.
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

/** The API for other extensions and for tests. */
export interface Exports {
  readonly daemon: Daemon;
}

let daemon: AttachedDaemon | undefined;

export function activate(context: vscode.ExtensionContext): Exports {
  const logs = createLogs();
  const attached = new AttachedDaemon(logs);
  daemon = attached;
  // A window in which the user stopped the daemon stays disconnected, regardless of the settings.
  const reconnect = () => {
    if (attached.state.kind !== "stopped") {
      void attached.restart();
    }
  };
  context.subscriptions.push(
    logs,
    attached,
    registerLifecycle(attached, logs, context.extension),
    createStatus(attached, commandTitles(context.extension)),
    onReconnectingChange(reconnect),
    vscode.workspace.onDidGrantWorkspaceTrust(reconnect),
    registerViews(attached, context.workspaceState, context.extensionUri),
    registerAutostart(attached),
  );
  return { daemon: attached };
}

export async function deactivate(): Promise<void> {
  await daemon?.close();
}
