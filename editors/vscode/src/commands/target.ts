// The target of a command: its argument, else the selection, else the shown session.
import * as vscode from "vscode";
import type { Current } from "../current.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type { KnownSession } from "../model/words.ts";
import type { Transcripts } from "../transcript/transcripts.ts";
import type { TreeView } from "../views/treeView.ts";
import type { SessionsView } from "../views/sessionsView.ts";
import { entryTarget, type EntryTarget, sessionTarget } from "../views/elements.ts";

export interface Views {
  readonly daemon: Daemon;
  readonly current: Current;
  readonly tree: TreeView;
  readonly sessions: SessionsView;
  readonly transcripts: Transcripts;
}

export type Command = (argument?: unknown) => Promise<unknown>;

/** A command for an entry. Without one, as from the palette before a session is shown, it does nothing. */
export function onEntry(views: Views, run: (target: EntryTarget) => Promise<unknown>): Command {
  return async (argument) => {
    const target = entryTarget(argument) ?? views.tree.target;
    return target && run(target);
  };
}

/** A command for a session. */
export function onSession(views: Views, run: (session: KnownSession) => Promise<unknown>): Command {
  return async (argument) => {
    const sessionId = sessionTarget(argument) ?? transcriptTarget(views, argument) ?? views.sessions.target;
    return sessionId === undefined ? undefined : run(await sessionOf(views, sessionId));
  };
}

/** The session of the transcript whose title bar has the command; VS Code passes the resource of the editor. */
export function transcriptTarget({ transcripts }: Views, argument: unknown): string | undefined {
  return argument instanceof vscode.Uri && argument.scheme === "webview-panel" ? transcripts.activeSessionId : undefined;
}

export async function sessionOf(views: Views, sessionId: string): Promise<KnownSession> {
  const known = views.sessions.session(sessionId);
  return known ?? (await views.daemon.request("session/info", { sessionId })).session;
}
