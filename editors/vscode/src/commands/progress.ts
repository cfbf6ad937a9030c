// Shows the progress of a long request in a notification.
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import { notificationText } from "../model/text.ts";

/** Send a request with the given `workDoneToken`. The user can cancel it. */
export async function withProgress<T>(
  daemon: Daemon,
  title: string,
  request: (workDoneToken: string, cancel: vscode.CancellationToken) => Promise<T>,
): Promise<T> {
  const workDoneToken = randomUUID();
  const options = { location: vscode.ProgressLocation.Notification, title: notificationText(title), cancellable: true };
  return vscode.window.withProgress(options, async (progress, cancel) => {
    const subscription = daemon.onNotification("$/progress", ({ token, value }) => {
      if (token === workDoneToken && value.message) {
        progress.report({ message: notificationText(value.message) });
      }
    });
    try {
      return await request(workDoneToken, cancel);
    } finally {
      subscription.dispose();
    }
  });
}
