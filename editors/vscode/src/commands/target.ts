// The target of a command: its argument, else the selection, else the shown session.
import type { Current } from "../current.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type { Shown } from "../model/words.ts";
import type { TreeView } from "../views/treeView.ts";
import type { SessionsView } from "../views/sessionsView.ts";
import { entryIn, type NamedEntry, sessionIn } from "../views/elements.ts";

export interface Views {
  readonly daemon: Daemon;
  readonly current: Current;
  readonly tree: TreeView;
  readonly sessions: SessionsView;
}

export type Command = (argument?: unknown) => Promise<unknown>;

/** A command about an entry. Without one, as from the palette before anything is shown, it does nothing. */
export function onEntry(views: Views, run: (target: NamedEntry) => Promise<unknown>): Command {
  return async (argument) => {
    const target = entryIn(argument) ?? views.tree.chosen;
    return target && run(target);
  };
}

/** A command about a session. */
export function onSession(views: Views, run: (session: Shown) => Promise<unknown>): Command {
  return async (argument) => {
    const sessionId = sessionIn(argument) ?? views.sessions.chosen;
    return sessionId === undefined ? undefined : run(await sessionOf(views, sessionId));
  };
}

export async function sessionOf(views: Views, sessionId: string): Promise<Shown> {
  const known = views.sessions.session(sessionId);
  return known ?? (await views.daemon.request("session/info", { sessionId })).session;
}
