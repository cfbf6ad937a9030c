// Commands that export a session, or the path to an entry, to a file.
import * as path from "node:path";
import * as vscode from "vscode";
import { count, summed } from "../model/text.ts";
import { titleOf, type KnownSession } from "../model/words.ts";
import type { ExportParams, ExportResult } from "../protocol.ts";
import { showInformation } from "../userMessages.ts";
import { type Command, onEntry, onSession, sessionOf, type Views } from "./target.ts";

interface FormatItem extends vscode.QuickPickItem {
  readonly format: ExportParams["format"];
  readonly extension: string;
}

const FORMATS: readonly FormatItem[] = [
  { label: "HTML", format: "html", extension: "html", description: "a page with the whole tree, for browsers" },
  { label: "Markdown", format: "markdown", extension: "md", description: "the path as a transcript" },
  { label: "JSONL", format: "jsonl", extension: "jsonl", description: "the format of sessiond, pi and oh-my-pi" },
  { label: "operator", format: "operator", extension: "jsonl", description: "for the operator session library" },
  { label: "Go", format: "go", extension: "jsonl", description: "for the Go session manager" },
  { label: "NOVA", format: "nova", extension: "json", description: "the working state" },
];

export function exportCommands(views: Views): Record<string, Command> {
  return {
    "sessiond.exportSession": onSession(views, (session) => exportTo(views, session, null)),
    "sessiond.exportPath": onEntry(views, async ({ sessionId, entryId }) =>
      exportTo(views, await sessionOf(views, sessionId), entryId),
    ),
  };
}

async function exportTo({ daemon }: Views, session: KnownSession, leafId: string | null): Promise<void> {
  const title = leafId === null ? "Export Session" : "Export Path";
  const picked = await vscode.window.showQuickPick(FORMATS, { title, placeHolder: titleOf(session) });
  if (picked === undefined) {
    return;
  }
  const target = await vscode.window.showSaveDialog({
    title,
    defaultUri: vscode.Uri.file(path.join(session.cwd || "/", `${fileName(session)}.${picked.extension}`)),
    filters: { [picked.label]: [picked.extension] },
  });
  if (target === undefined) {
    return;
  }
  const result = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: "Exporting the session" },
    () =>
      daemon.request("session/export", {
        sessionId: session.sessionId,
        format: picked.format,
        path: target.fsPath,
        overwrite: true, // the save dialog has confirmed it
        ...(leafId === null ? {} : { leafId }),
      }),
  );
  reportExport(result, target, picked.format === "html");
}

function reportExport(result: ExportResult, target: vscode.Uri, isPage: boolean): void {
  const secrets = summed(result.redactedCounts);
  const lost = result.lostCount;
  const notes = [
    `Wrote ${target.fsPath}: ${count(result.entryCount, "entry", "entries")}.`,
    secrets > 0 ? `${count(secrets, "secret was", "secrets were")} redacted.` : "",
    lost > 0 ? `${count(lost, "conversion loss", "conversion losses")}.` : "",
  ];
  // In a remote window, the browser runs on another machine than the file.
  const opensBrowser = isPage && vscode.env.remoteName === undefined;
  showInformation(notes.filter(Boolean).join(" "), {
    Open: () => (opensBrowser ? vscode.env.openExternal(target) : vscode.window.showTextDocument(target)),
  });
}

/** A file name with ASCII letters, digits and hyphens only. */
function fileName(session: KnownSession): string {
  const words = titleOf(session).normalize("NFKD").replace(/[^A-Za-z0-9]+/g, "-");
  return words.replace(/^-+|-+$/g, "").slice(0, 60).toLowerCase() || "session";
}
