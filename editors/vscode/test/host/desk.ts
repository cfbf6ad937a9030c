// The fixture of the suite, and functions that wait with a timeout.
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import type { DaemonState } from "../../src/daemon/daemon.ts";
import type { Exports } from "../../src/extension.ts";

/** `.vscode/desk.json` of the folder that is open. */
export interface Desk {
  /** `[name, argument…]` of a command that runs `sessiond` for the daemon of this folder. */
  sessiond: string[];
  /** A session of six messages in two branches, its id, and the ids of the messages. */
  file: string;
  sessionId: string;
  entries: { why: string; because: string; fix: string; fixed: string; write_test: string; tested: string };
  /** A session that was forked from it. */
  fork: string;
  /** A session file with a line that is not an entry. */
  damaged: string;
}

/** For a machine that runs other tests at the same time. */
const TIMEOUT_MS = 45_000;

export function folder(): string {
  const first = vscode.workspace.workspaceFolders?.[0];
  if (first === undefined) {
    throw new Error("no folder is open");
  }
  return first.uri.fsPath;
}

export function readDesk(): Desk {
  return JSON.parse(fs.readFileSync(path.join(folder(), ".vscode/desk.json"), "utf8")) as Desk;
}

/** Wait until `look` returns a value. An exception means that there is none yet. */
export async function eventually<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const end = Date.now() + TIMEOUT_MS;
  let last: unknown;
  while (Date.now() < end) {
    try {
      const found = await look();
      if (found !== undefined) {
        return found;
      }
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Timeout: ${what}${last instanceof Error ? ` (${last.message})` : ""}`);
}

export function extension(): vscode.Extension<Exports> {
  const found = vscode.extensions.all.find(({ packageJSON }) => packageJSON.name === "sessiond-vscode");
  if (found === undefined) {
    throw new Error("the extension is not installed");
  }
  return found as vscode.Extension<Exports>;
}

/** Wait until the daemon's state is of a kind. */
export async function becomes<K extends DaemonState["kind"]>(kind: K): Promise<Extract<DaemonState, { kind: K }>> {
  const { daemon } = await extension().activate();
  return eventually(`the state ${kind}; it is ${JSON.stringify(daemon.state)}`, () =>
    daemon.state.kind === kind ? (daemon.state as Extract<DaemonState, { kind: K }>) : undefined,
  );
}

export async function open(file: string): Promise<vscode.TextDocument> {
  const document = await vscode.workspace.openTextDocument(file);
  await vscode.window.showTextDocument(document);
  return document;
}

/** The position of the id in the line of an entry. */
export function idOf(document: vscode.TextDocument, entry: string): vscode.Position {
  const offset = document.getText().indexOf(`"id":"${entry}"`);
  if (offset < 0) {
    throw new Error(`${document.fileName} has no entry ${entry}`);
  }
  return document.positionAt(offset + 7);
}

/** Change a setting of this folder. */
export async function set(name: string, value: unknown): Promise<void> {
  await vscode.workspace
    .getConfiguration("sessiond")
    .update(name, value, vscode.ConfigurationTarget.Workspace);
}
