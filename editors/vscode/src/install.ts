// Installs sessiond in a visible terminal, at the user's request.
import * as os from "node:os";
import * as vscode from "vscode";
import { which } from "./daemon/command.ts";
import type { Environment } from "./daemon/paths.ts";

interface Installer {
  tool: string;
  command: string;
  detail: string;
}

/** In the order of preference. Each also updates an earlier installation. */
const INSTALLERS: readonly Installer[] = [
  { tool: "uv", command: "uv tool install --upgrade sessiond", detail: "in its own environment, with uv" },
  { tool: "pipx", command: "pipx install --force sessiond", detail: "in its own environment, with pipx" },
  {
    tool: "python3",
    command: "python3 -m pip install --user --upgrade sessiond",
    detail: "in the user's Python, with pip; some systems refuse this",
  },
];

/** The installers whose program is on the PATH. */
export function installers(environment: Environment): readonly Installer[] {
  return INSTALLERS.filter(({ tool }) => which(tool, environment) !== undefined);
}

/** Let the user choose an installer, and run it in a terminal. The connection loop finds the command afterwards. */
export async function installDaemon(): Promise<void> {
  const items = installers(process.env).map(({ command, detail }) => ({ label: command, detail }));
  if (items.length === 0) {
    void vscode.window.showErrorMessage(
      "uv, pipx and python3 are not on the PATH. Install sessiond manually, then set sessiond.path.",
    );
    return;
  }
  const chosen = await vscode.window.showQuickPick(items, {
    title: "Install sessiond",
    placeHolder: "Choose the command to run in a terminal",
  });
  if (chosen !== undefined) {
    // Not in the workspace, whose files could change what is installed.
    const terminal = vscode.window.createTerminal({ name: "Install sessiond", cwd: os.homedir() });
    terminal.show();
    terminal.sendText(chosen.label);
  }
}
