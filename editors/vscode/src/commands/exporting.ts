// A session, or the path to an entry, as a file.
import * as path from "node:path";
import * as vscode from "vscode";
import { count, summed } from "../model/text.ts";
import { titleOf, type KnownSession } from "../model/words.ts";
import type { ExportParams, ExportResult } from "../protocol.ts";
import { showInformation } from "../userMessages.ts";
import { type Command, onEntry, onSession, sessionOf, type Views } from "./target.ts";

interface Form extends vscode.QuickPickItem {
  readonly format: ExportParams["format"];
  readonly ending: string;
}

const FORMS: readonly Form[] = [
  { label: "HTML", format: "html", ending: "html", description: "one page with the whole tree, for a browser" },
  { label: "Markdown", format: "markdown", ending: "md", description: "the path as a transcript" },
  { label: "JSONL", format: "jsonl", ending: "jsonl", description: "as sessiond, pi and oh-my-pi have it" },
  { label: "operator", format: "operator", ending: "jsonl", description: "for the operator session library" },
  { label: "Go", format: "go", ending: "jsonl", description: "for the Go session manager" },
  { label: "NOVA", format: "nova", ending: "json", description: "the working state" },
];

export function exportCommands(views: Views): Record<string, Command> {
  return {
    "sessiond.exportSession": onSession(views, (session) => exported(views, session, null)),
    "sessiond.exportPath": onEntry(views, async ({ sessionId, entryId }) =>
      exported(views, await sessionOf(views, sessionId), entryId),
    ),
  };
}

async function exported({ daemon }: Views, session: KnownSession, leafId: string | null): Promise<void> {
  const title = leafId === null ? "Export Session" : "Export Path";
  const form = await vscode.window.showQuickPick(FORMS, { title, placeHolder: titleOf(session) });
  if (form === undefined) {
    return;
  }
  const target = await vscode.window.showSaveDialog({
    title,
    defaultUri: vscode.Uri.file(path.join(session.cwd || "/", `${fileName(session)}.${form.ending}`)),
    filters: { [form.label]: [form.ending] },
  });
  if (target === undefined) {
    return;
  }
  const result = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: "Exporting the session" },
    () =>
      daemon.request("session/export", {
        sessionId: session.sessionId,
        format: form.format,
        path: target.fsPath,
        overwrite: true, // the save dialog has confirmed it
        ...(leafId === null ? {} : { leafId }),
      }),
  );
  reportExport(result, target, form.format === "html");
}

function reportExport(result: ExportResult, target: vscode.Uri, page: boolean): void {
  const secrets = summed(result.redactedCounts);
  const lost = result.lostCount;
  const notes = [
    `Wrote ${target.fsPath}: ${count(result.entryCount, "entry", "entries")}.`,
    secrets > 0 ? `${count(secrets, "secret was", "secrets were")} left out.` : "",
    lost > 0 ? `${count(lost, "thing", "things")} the format cannot hold.` : "",
  ];
  // In a remote window, the browser runs on another machine than the file.
  const browser = page && vscode.env.remoteName === undefined;
  showInformation(notes.filter(Boolean).join(" "), {
    Open: () => (browser ? vscode.env.openExternal(target) : vscode.window.showTextDocument(target)),
  });
}

/** A file name with ASCII letters, digits and hyphens only. */
function fileName(session: KnownSession): string {
  const words = titleOf(session).normalize("NFKD").replace(/[^A-Za-z0-9]+/g, "-");
  return words.replace(/^-+|-+$/g, "").slice(0, 60).toLowerCase() || "session";
}
