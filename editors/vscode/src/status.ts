// The status bar item: the state of the daemon, and a menu of commands for that state.
import * as vscode from "vscode";
import type { Daemon } from "./daemon/daemon.ts";
import { statusText } from "./statusText.ts";

export function createStatus(daemon: Daemon, titles: ReadonlyMap<string, string>): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("sessiond.status", vscode.StatusBarAlignment.Left);
  item.name = "sessiond";
  item.command = "sessiond.showActions";
  const show = () => {
    const { icon, summary, detail, commands, warns } = statusText(daemon.state);
    item.text = `$(${icon}) sessiond`;
    item.tooltip = tooltip(detail, commands, titles);
    item.accessibilityInformation = { label: `sessiond: ${summary}`, role: "button" };
    item.backgroundColor = warns ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
  };
  show();
  item.show();
  const showActions = async () => {
    const { detail, commands } = statusText(daemon.state);
    const items = commands.map((command) => ({ label: titles.get(command) ?? command, command }));
    const chosen = await vscode.window.showQuickPick(items, { title: "sessiond", placeHolder: detail });
    if (chosen !== undefined) {
      await vscode.commands.executeCommand(chosen.command);
    }
  };
  return vscode.Disposable.from(
    item,
    daemon.onDidChangeState(show),
    vscode.commands.registerCommand("sessiond.showActions", showActions),
  );
}

function tooltip(
  detail: string,
  commands: readonly string[],
  titles: ReadonlyMap<string, string>,
): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  // Only these commands: `detail` may contain output of a program.
  text.isTrusted = { enabledCommands: commands };
  text.appendText(detail);
  const links = commands.map((command) => `[${titles.get(command) ?? command}](command:${command})`);
  text.appendMarkdown(`\n\n${links.join(" · ")}`);
  return text;
}
