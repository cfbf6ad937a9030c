// Installs sessiond in a visible terminal, at the user's request.
import * as os from "node:os";
import * as vscode from "vscode";
import { which } from "./daemon/command.ts";
import type { Environment } from "./daemon/paths.ts";

interface Way {
  tool: string;
  command: string;
  detail: string;
}

/** The likeliest to do it well first. All of them update, too, what an earlier run installed. */
const WAYS: readonly Way[] = [
  { tool: "uv", command: "uv tool install --upgrade sessiond", detail: "an environment of its own, by uv" },
  { tool: "pipx", command: "pipx install --force sessiond", detail: "an environment of its own, by pipx" },
  {
    tool: "python3",
    command: "python3 -m pip install --user --upgrade sessiond",
    detail: "your Python, by pip; some systems refuse this",
  },
];

/** Those of them for which there is a program here. */
export function waysToInstall(environment: Environment): readonly Way[] {
  return WAYS.filter(({ tool }) => which(tool, environment) !== undefined);
}

/** Ask how, and run it in a terminal. The loop notices by itself when the command is there. */
export async function installDaemon(): Promise<void> {
  const items = waysToInstall(process.env).map(({ command, detail }) => ({ label: command, detail }));
  if (items.length === 0) {
    void vscode.window.showErrorMessage(
      "There is neither uv, pipx nor python3 on the PATH. Install sessiond yourself, then name it in the setting sessiond.path.",
    );
    return;
  }
  const chosen = await vscode.window.showQuickPick(items, {
    title: "Install sessiond",
    placeHolder: "This runs in a terminal:",
  });
  if (chosen !== undefined) {
    // Not in the workspace: its files could change what is installed.
    const terminal = vscode.window.createTerminal({ name: "Install sessiond", cwd: os.homedir() });
    terminal.show();
    terminal.sendText(chosen.label);
  }
}
