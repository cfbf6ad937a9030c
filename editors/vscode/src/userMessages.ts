// What a person is told: once, in the daemon's own sentence, with what may help. Who cancels is told nothing.
import * as vscode from "vscode";
import { DaemonError } from "./daemon/errors.ts";
import { notificationText } from "./model/text.ts";

interface Offer extends vscode.MessageItem {
  run: () => unknown;
}

function offer(title: string, command: string, ...parameters: unknown[]): Offer {
  return { title, run: () => vscode.commands.executeCommand(command, ...parameters) };
}

function offers(refused: DaemonError): Offer[] {
  switch (refused.kind) {
    case "notAttached":
    case "disconnected":
    case "draining":
      return [offer("Start Daemon", "sessiond.startDaemon")];
    case "sessionTrashed": {
      const sessionId = refused.details("sessionTrashed")?.sessionId;
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

/** Tell what went wrong. Resolves at once: nobody need answer. */
export function showError(thrown: unknown): void {
  const refused = thrown instanceof DaemonError ? thrown : undefined;
  if (thrown instanceof vscode.CancellationError || refused?.kind === "cancelled") {
    return;
  }
  // What VS Code itself cannot do, such as show a file, is no fault of the daemon, and starting that does not help.
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  void vscode.window
    .showErrorMessage(notificationText(message), ...(refused === undefined ? [] : offers(refused)))
    .then((chosen) => chosen?.run());
}

/** Say what came of something, with what may be done next. */
export function showInformation(message: string, next: Readonly<Record<string, () => unknown>> = {}): void {
  void vscode.window.showInformationMessage(notificationText(message), ...Object.keys(next)).then((chosen) => {
    const run = chosen === undefined ? undefined : next[chosen];
    return run && attempt(async () => run());
  });
}

/** Say something that needs no answer. */
export function showStatusMessage(message: string): void {
  vscode.window.setStatusBarMessage(notificationText(message).replace(/\$\(/g, "$ ("), 4000);
}

/** Do something; what goes wrong is told. Undefined when it did. */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    showError(error);
    return undefined;
  }
}
