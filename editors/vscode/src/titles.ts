// The titles of this extension's commands as in the palette, for menus and links.
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
