// Starts the daemon automatically when a session file or a view of this extension is opened, but not for other *.jsonl
// files.
import * as vscode from "vscode";
import { type AttachedDaemon, mayStart } from "./daemon/attach.ts";
import { isSession } from "./sessionFiles.ts";

export function registerAutostart(daemon: AttachedDaemon): vscode.Disposable {
  const jsonl = vscode.workspace.textDocuments.filter(({ languageId }) => languageId === "jsonl");
  // Without a *.jsonl file, a view or a command activated the extension.
  if (mayStart() && (jsonl.length === 0 || jsonl.some(isSessionFile))) {
    void daemon.ensureRunning();
  } else {
    daemon.begin();
  }
  return vscode.workspace.onDidOpenTextDocument((document) => {
    const isDetached = daemon.state.kind === "offline" || daemon.state.kind === "connecting";
    if (isDetached && mayStart() && isSessionFile(document)) {
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
