// Shows the line of an entry in the session's file.
import * as vscode from "vscode";

/** How long a line that was just written may take to appear in the editor. */
const LINE_TIMEOUT_MS = 10_000;

/** Number of the last request: a line is not shown if another one was requested meanwhile. */
let lastRequest = 0;

/**
 * Show the line of an entry. `seq` is the expected line number; the line must have the id of the entry. With
 * `preserveFocus`, the keyboard focus does not change. Rejects if the file has no such line.
 */
export async function showLine(path: string, seq: number, entryId: string, preserveFocus: boolean): Promise<void> {
  const request = ++lastRequest;
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(path));
  const line = lineOf(document, seq, entryId) ?? (await waitForLine(document, seq, entryId));
  if (request !== lastRequest) {
    return;
  }
  if (line === undefined) {
    throw new Error(`${path} has no line of ${entryId}.`);
  }
  const at = new vscode.Position(line, 0);
  const editor = await vscode.window.showTextDocument(document, {
    preview: true,
    preserveFocus,
    selection: new vscode.Range(at, at),
  });
  editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** The line of an entry. A title before the header, or a missing header, shifts lines by one, so these are tried first. */
function lineOf(document: vscode.TextDocument, seq: number, entryId: string): number | undefined {
  const quoted = JSON.stringify(entryId);
  const hasId = (line: number): boolean => {
    const text = line >= 0 && line < document.lineCount ? document.lineAt(line).text : "";
    return text.includes(quoted) && idIn(text) === entryId;
  };
  for (const line of [seq, seq + 1, seq - 1]) {
    if (hasId(line)) {
      return line;
    }
  }
  for (let line = document.lineCount - 1; line >= 0; line--) {
    if (hasId(line)) {
      return line;
    }
  }
  return undefined;
}

function waitForLine(document: vscode.TextDocument, seq: number, entryId: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const done = (line: number | undefined): void => {
      clearTimeout(late);
      changes.dispose();
      resolve(line);
    };
    const late = setTimeout(() => done(undefined), LINE_TIMEOUT_MS);
    const changes = vscode.workspace.onDidChangeTextDocument((event) => {
      const line = event.document === document ? lineOf(document, seq, entryId) : undefined;
      if (line !== undefined) {
        done(line);
      }
    });
  });
}

/** The `id` of the outermost object of a line. */
function idIn(line: string): string | undefined {
  const quick = /"id"\s*:\s*"([^"\\]*)"/.exec(line.slice(0, 300));
  if (quick !== null && /^\{[^{[]*$/.test(line.slice(0, quick.index))) {
    return quick[1];
  }
  try {
    const { id } = JSON.parse(line) as { id?: unknown };
    return typeof id === "string" ? id : undefined;
  } catch {
    return undefined;
  }
}
