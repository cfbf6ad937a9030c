// When the daemon is started without being asked for by name: for a session file, or for a view of ours; not because
// some other *.jsonl file was opened.
import * as vscode from "vscode";
import { type AttachedDaemon, mayStart } from "./daemon/attach.ts";
import { isSession } from "./sessionFiles.ts";

export function registerAutostart(daemon: AttachedDaemon): vscode.Disposable {
  const jsonl = vscode.workspace.textDocuments.filter(({ languageId }) => languageId === "jsonl");
  // Without such a file it was a view or a command that brought us here.
  if (mayStart() && (jsonl.length === 0 || jsonl.some(isSessionFile))) {
    void daemon.ensureRunning();
  } else {
    daemon.begin();
  }
  return vscode.workspace.onDidOpenTextDocument((document) => {
    const isAway = daemon.state.kind === "offline" || daemon.state.kind === "connecting";
    if (isAway && mayStart() && isSessionFile(document)) {
      void daemon.ensureRunning();
    }
  });
}

function isSessionFile(document: vscode.TextDocument): boolean {
  if (document.languageId !== "jsonl" || document.uri.scheme !== "file") {
    return false;
  }
  const line = (number: number) => (number < document.lineCount ? document.lineAt(number).text : "");
  return isSession(line(0), line(1));
}
