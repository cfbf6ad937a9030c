// Converts the icon of a row for VS Code.
import * as vscode from "vscode";
import type { Icon } from "../model/words.ts";

export type RowIcon = vscode.ThemeIcon | { light: vscode.Uri; dark: vscode.Uri };

/** A codicon in a theme color, or initials in a frame, which no codicon has. */
export function themeIcon({ id, color, initials }: Icon): RowIcon {
  if (initials !== undefined) {
    return { light: framed(initials, "#424242"), dark: framed(initials, "#c5c5c5") };
  }
  return new vscode.ThemeIcon(id, color === undefined ? undefined : new vscode.ThemeColor(color));
}

/** `initials` are letters and digits, so they need no escaping. */
function framed(initials: string, color: string): vscode.Uri {
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16" fill="${color}">` +
    `<rect x="0.6" y="2.1" width="14.8" height="11.8" rx="3" fill="none" stroke="${color}" stroke-width="1.1"/>` +
    `<text x="8" y="11" text-anchor="middle" font-family="sans-serif" font-size="8" font-weight="700">${initials}</text></svg>`;
  return vscode.Uri.parse(`data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`);
}
