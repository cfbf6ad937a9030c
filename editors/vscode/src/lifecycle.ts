// The commands for the daemon and for this window's connection to it.
import * as fs from "node:fs";
import * as vscode from "vscode";
import { type AttachedDaemon, currentPaths } from "./daemon/attach.ts";
import { debugInformation } from "./debugInformation.ts";
import { installDaemon } from "./install.ts";
import type { Logs } from "./logs.ts";
import { notificationText } from "./model/text.ts";
import type { ClientInfo } from "./protocol.ts";
import { statusText } from "./statusText.ts";
import { showError } from "./userMessages.ts";

export function registerLifecycle(
  daemon: AttachedDaemon,
  logs: Logs,
  extension: vscode.Extension<unknown>,
): vscode.Disposable {
  const commands: Record<string, () => unknown> = {
    "sessiond.copyDebugInformation": async () => {
      await vscode.env.clipboard.writeText(await debugInformation(daemon, extension));
      vscode.window.setStatusBarMessage("Copied the debug information.", 3000);
    },
    "sessiond.installDaemon": installDaemon,
    "sessiond.openPathSetting": () =>
      vscode.commands.executeCommand("workbench.action.openSettings", "sessiond.path"),
    "sessiond.openWalkthrough": () =>
      vscode.commands.executeCommand("workbench.action.openWalkthrough", `${extension.id}#sessiond.start`, false),
    "sessiond.reportIssue": async () => writeReport(await debugInformation(daemon, extension)),
    "sessiond.restartClient": () => daemon.restart(),
    "sessiond.showClientLog": () => logs.log.show(),
    "sessiond.showDaemonLog": showDaemonLog,
    "sessiond.startDaemon": () => startDaemon(daemon),
    "sessiond.stopDaemon": () => stopDaemon(daemon),
  };
  return vscode.Disposable.from(
    ...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(name, run)),
  );
}

async function startDaemon(daemon: AttachedDaemon): Promise<void> {
  const state = await daemon.ensureRunning();
  if (state.kind === "attached") {
    return;
  }
  const install = { title: "Install sessiond" };
  const log = { title: "Show Client Log" };
  const offers = state.kind === "missing" ? [install, log] : [log];
  const chosen = await vscode.window.showErrorMessage(notificationText(statusText(state).detail), ...offers);
  if (chosen === install) {
    await installDaemon();
  } else if (chosen === log) {
    await vscode.commands.executeCommand("sessiond.showClientLog");
  }
}

async function stopDaemon(daemon: AttachedDaemon): Promise<void> {
  try {
    const { clients } = await daemon.request("server/clients", {});
    const others = clients.filter(({ clientId }) => clientId !== daemon.clientId);
    if (others.length === 0 || (await confirmed(others))) {
      await daemon.stop();
    }
  } catch (error) {
    showError(error);
  }
}

async function confirmed(others: readonly ClientInfo[]): Promise<boolean> {
  const stop = { title: "Stop the Daemon" };
  const count = others.length === 1 ? "Another client is" : `${others.length} other clients are`;
  const chosen = await vscode.window.showWarningMessage(
    notificationText(`${count} attached to the daemon.`),
    { modal: true, detail: `Stopping the daemon disconnects them:\n${others.map(clientName).join("\n")}` },
    stop,
  );
  return chosen === stop;
}

function clientName({ name, clientId, terminal }: ClientInfo): string {
  return `${name ?? clientId}${terminal?.cwd ? ` in ${terminal.cwd}` : ""}`;
}

/** Open a bug report template. The user sends it; the extension sends nothing. */
async function writeReport(information: string): Promise<void> {
  const content = [
    "# sessiond bug report",
    "## Description",
    "",
    "## Expected behavior",
    "",
    "## Steps to reproduce",
    "",
    "## Debug information",
    `\`\`\`json\n${information}\n\`\`\`\n`,
  ].join("\n\n");
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: "markdown", content }));
}

async function showDaemonLog(): Promise<void> {
  const { log } = currentPaths();
  if (!fs.existsSync(log)) {
    void vscode.window.showInformationMessage(notificationText(`The daemon has not written a log yet: ${log}`));
    return;
  }
  await vscode.window.showTextDocument(vscode.Uri.file(log), { preview: true });
}
