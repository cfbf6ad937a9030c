// What a person has chosen, typed. Without trust VS Code leaves out what the workspace says of paths.
import * as vscode from "vscode";
import type { LspOptions } from "./protocol.ts";

export interface Settings {
  autoStart: boolean;
  home: string;
  path: string;
  socket: string;
  lsp: LspOptions;
}

/** Settings of which a change makes another connection. */
const RECONNECTING = ["sessiond.home", "sessiond.path", "sessiond.socket"];

export function settings(): Settings {
  const ours = vscode.workspace.getConfiguration("sessiond");
  return {
    autoStart: ours.get("autoStart", true),
    home: ours.get("home", "").trim(),
    path: ours.get("path", "").trim(),
    socket: ours.get("socket", "").trim(),
    lsp: {
      codeLens: ours.get("lsp.codeLens", false),
      inlayHints: ours.get("lsp.inlayHints", true),
      diagnostics: ours.get("lsp.diagnostics", true),
    },
  };
}

/** The interpreter that the Python extension would take; "" for none. */
export function pythonInterpreter(): string {
  return vscode.workspace.getConfiguration("python").get("defaultInterpreterPath", "").trim();
}

/** Call `changed` when a setting changes that the connection depends on. */
export function onReconnectingChange(changed: () => void): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((event) => {
    if (RECONNECTING.some((name) => event.affectsConfiguration(name))) {
      changed();
    }
  });
}
