// The line of an entry in its session's file, in an editor.
import * as vscode from "vscode";

/** Milliseconds that a line which was just written may take to come into the editor. */
const PATIENCE = 10_000;

/** Counts what was asked for: a line that came late is not shown any more when another was wanted meanwhile. */
let wanted = 0;

/**
 * Show the line of an entry; `preserveFocus` leaves the keyboard where it is. `seq` says where it should be; a line
 * that names another entry is not taken for it. Rejects when the file has no such line.
 */
export async function showLine(path: string, seq: number, entryId: string, preserveFocus: boolean): Promise<void> {
  const mine = ++wanted;
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(path));
  const line = lineOf(document, seq, entryId) ?? (await laterLine(document, seq, entryId));
  if (mine !== wanted) {
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

/** A title before the header, or a header that is missing, moves lines by one: look there first. */
function lineOf(document: vscode.TextDocument, seq: number, entryId: string): number | undefined {
  const quoted = JSON.stringify(entryId);
  const named = (line: number): boolean => {
    const text = line >= 0 && line < document.lineCount ? document.lineAt(line).text : "";
    return text.includes(quoted) && idIn(text) === entryId;
  };
  for (const line of [seq, seq + 1, seq - 1]) {
    if (named(line)) {
      return line;
    }
  }
  for (let line = document.lineCount - 1; line >= 0; line--) {
    if (named(line)) {
      return line;
    }
  }
  return undefined;
}

function laterLine(document: vscode.TextDocument, seq: number, entryId: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const done = (line: number | undefined): void => {
      clearTimeout(late);
      changes.dispose();
      resolve(line);
    };
    const late = setTimeout(() => done(undefined), PATIENCE);
    const changes = vscode.workspace.onDidChangeTextDocument((event) => {
      const line = event.document === document ? lineOf(document, seq, entryId) : undefined;
      if (line !== undefined) {
        done(line);
      }
    });
  });
}

/** The id that a line of a session file gives its entry: of the outermost object, wherever it stands there. */
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
