// Converts the icon of a row for VS Code.
import * as vscode from "vscode";
import type { Icon } from "../model/words.ts";

export function themeIcon({ id, color }: Icon): vscode.ThemeIcon {
  return new vscode.ThemeIcon(id, color === undefined ? undefined : new vscode.ThemeColor(color));
}
