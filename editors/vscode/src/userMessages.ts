// Messages to the user: errors, results and status bar messages. An error message is the daemon's sentence, with
// buttons for commands that may help. A canceled request shows no message.
import * as vscode from "vscode";
import { DaemonError } from "./daemon/errors.ts";
import { notificationText } from "./model/text.ts";

interface Offer extends vscode.MessageItem {
  run: () => unknown;
}

function offer(title: string, command: string, ...parameters: unknown[]): Offer {
  return { title, run: () => vscode.commands.executeCommand(command, ...parameters) };
}

function offers(failure: DaemonError): Offer[] {
  switch (failure.kind) {
    case "notAttached":
    case "disconnected":
    case "draining":
      return [offer("Start Daemon", "sessiond.startDaemon")];
    case "sessionTrashed": {
      const sessionId = failure.details("sessionTrashed")?.sessionId;
      return typeof sessionId === "string"
        ? [offer("Restore", "sessiond.restoreSession", { sessionId })]
        : [offer("Show Trash", "sessiond.showTrash")];
    }
    case "sessionNotFound":
      return [offer("Open Session…", "sessiond.openSession")];
    case "storageFull":
    case "storageFailed":
    case "internal":
      return [offer("Show Daemon Log", "sessiond.showDaemonLog")];
    default:
      return [];
  }
}

/** Show an error. Returns at once and does not wait for the user to dismiss it. */
export function showError(thrown: unknown): void {
  const failure = thrown instanceof DaemonError ? thrown : undefined;
  if (thrown instanceof vscode.CancellationError || failure?.kind === "canceled") {
    return;
  }
  // For an error of VS Code itself, such as a file that it cannot show, starting the daemon does not help.
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  void vscode.window
    .showErrorMessage(notificationText(message), ...(failure === undefined ? [] : offers(failure)))
    .then((chosen) => chosen?.run());
}

/** Show a result in a notification, with a button for each action of `next`. */
export function showInformation(message: string, next: Readonly<Record<string, () => unknown>> = {}): void {
  void vscode.window.showInformationMessage(notificationText(message), ...Object.keys(next)).then((chosen) => {
    const run = chosen === undefined ? undefined : next[chosen];
    return run && attempt(async () => run());
  });
}

/** Show a message in the status bar for 4 seconds. */
export function showStatusMessage(message: string): void {
  vscode.window.setStatusBarMessage(notificationText(message).replace(/\$\(/g, "$ ("), 4000);
}

/** Run `work` and show its error. Returns its result, or undefined after an error. */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    showError(error);
    return undefined;
  }
}
