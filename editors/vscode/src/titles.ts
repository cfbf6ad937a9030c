// The titles of our commands as the palette shows them, for menus and links that name a command.
import type * as vscode from "vscode";

/** Command to title, in the language of the window. */
export function commandTitles(extension: vscode.Extension<unknown>): ReadonlyMap<string, string> {
  const contributed = extension.packageJSON as {
    contributes: { commands: readonly { command: string; title: string | { value: string } }[] };
  };
  return new Map(
    contributed.contributes.commands.map(({ command, title }) => [
      command,
      typeof title === "string" ? title : title.value,
    ]),
  );
}
