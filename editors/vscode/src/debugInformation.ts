// Debug information for a bug report. It contains no transcript text and only the settings of this extension.
import * as vscode from "vscode";
import { type AttachedDaemon, currentPaths } from "./daemon/attach.ts";
import { settings } from "./settings.ts";

const FIND_TIMEOUT_MS = 5000;

export async function debugInformation(
  daemon: AttachedDaemon,
  extension: vscode.Extension<unknown>,
): Promise<string> {
  const { version } = extension.packageJSON as { version: string };
  const state = daemon.state;
  const reportedState = state.kind === "attached" ? { ...state, methods: state.methods.length } : state;
  return JSON.stringify(
    {
      extension: version,
      vscode: `${vscode.version} (${vscode.env.appName}, ${vscode.env.appHost})`,
      remote: vscode.env.remoteName ?? null,
      system: `${process.platform} ${process.arch}, Node ${process.version}`,
      trusted: vscode.workspace.isTrusted,
      folders: vscode.workspace.workspaceFolders?.length ?? 0,
      state: reportedState,
      command: await daemon.findCommand(AbortSignal.timeout(FIND_TIMEOUT_MS)),
      paths: currentPaths(),
      environment: {
        SESSIOND_HOME: process.env["SESSIOND_HOME"] ?? null,
        SESSIOND_NO_AUTOSTART: process.env["SESSIOND_NO_AUTOSTART"] ?? null,
      },
      settings: settings(),
    },
    null,
    2,
  );
}
