// The settings, typed. In an untrusted workspace, VS Code ignores the workspace's settings of paths.
import * as vscode from "vscode";
import type { LspOptions } from "./protocol.ts";

export interface Settings {
  autoStart: boolean;
  home: string;
  path: string;
  socket: string;
  lsp: LspOptions;
}

/** Settings whose change requires another connection. */
const RECONNECTING = ["sessiond.home", "sessiond.path", "sessiond.socket"];
const AUTOMATED = "sessions.automated";

export function settings(): Settings {
  return {
    autoStart: choice("sessiond", "autoStart", true),
    home: text("sessiond", "home"),
    path: text("sessiond", "path"),
    socket: text("sessiond", "socket"),
    lsp: {
      codeLens: choice("sessiond", "lsp.codeLens", false),
      inlayHints: choice("sessiond", "lsp.inlayHints", true),
      diagnostics: choice("sessiond", "lsp.diagnostics", true),
    },
  };
}

/** Whether the views and pickers show automated sessions. */
export function showsAutomated(): boolean {
  return choice("sessiond", AUTOMATED, false);
}

/** The interpreter of the Python extension; "" for none. */
export function pythonInterpreter(): string {
  return text("python", "defaultInterpreterPath");
}

// A value in a settings file may be of any type.

function text(section: string, name: string): string {
  const value = vscode.workspace.getConfiguration(section).get<unknown>(name);
  return typeof value === "string" ? value.trim() : "";
}

function choice(section: string, name: string, otherwise: boolean): boolean {
  const value = vscode.workspace.getConfiguration(section).get<unknown>(name);
  return typeof value === "boolean" ? value : otherwise;
}

/** Call `changed` when a setting changes that the connection depends on. */
export function onReconnectingChange(changed: () => void): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((event) => {
    if (RECONNECTING.some((name) => event.affectsConfiguration(name))) {
      changed();
    }
  });
}

/** Call `changed` when automated sessions are to be shown, or to be hidden. */
export function onAutomatedChange(changed: () => void): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration(`sessiond.${AUTOMATED}`)) {
      changed();
    }
  });
}

/** Show automated sessions, or hide them. */
export function showAutomated(shows: boolean): Promise<void> {
  return change(AUTOMATED, shows);
}

/** Change a setting of the user, or of the workspace if that overrides it. */
export async function change(name: string, value: boolean): Promise<void> {
  const configuration = vscode.workspace.getConfiguration("sessiond");
  const { Global, Workspace } = vscode.ConfigurationTarget;
  const isOverridden = configuration.inspect(name)?.workspaceValue !== undefined;
  await configuration.update(name, value, isOverridden ? Workspace : Global);
}
