// The session picker: the newest sessions first, or the results of a full-text search as the user types.
import * as path from "node:path";
import * as vscode from "vscode";
import { countAutomated, hiddenLabel } from "./model/automated.ts";
import { themeIcon } from "./views/themeIcon.ts";
import { searchQuery } from "./model/searchQuery.ts";
import { distinctions, hitFacts, sessionFacts } from "./model/distinctions.ts";
import { ago, count, oneLine, quickPickText } from "./model/text.ts";
import { roleOf, sessionWords, titleOf } from "./model/words.ts";
import type { Hit, ListedSession, ListParams, ListResult } from "./protocol.ts";
import { openSession, showInTree } from "./commands/opening.ts";
import type { Views } from "./commands/target.ts";
import { showsAutomated } from "./settings.ts";
import { attempt, showError } from "./userMessages.ts";

/** Between a key press and the search. */
const TYPING_DELAY_MS = 150;
/** After this time, sessions are shown before the results of the search. */
const SEARCH_DELAY_MS = 300;
const MAX_SESSIONS = 100;
const MAX_HITS = 50;

interface Item extends vscode.QuickPickItem {
  /** Whether the picker stays open after `accept`. */
  readonly stays?: boolean;
  readonly accept?: () => Promise<unknown>;
  readonly session?: { readonly sessionId: string };
}

interface ItemButton extends vscode.QuickInputButton {
  readonly command: string;
  /** Whether the picker closes. */
  readonly closes: boolean;
}

const BUTTONS: readonly ItemButton[] = [
  { command: "sessiond.openSessionFile", iconPath: new vscode.ThemeIcon("file-code"), tooltip: "Show Session File", closes: true },
  { command: "sessiond.forkSession", iconPath: new vscode.ThemeIcon("repo-forked"), tooltip: "Fork Session", closes: true },
  { command: "sessiond.deleteSession", iconPath: new vscode.ThemeIcon("trash"), tooltip: "Delete Session", closes: false },
];

/** Let the user pick a session or an entry, and show it. */
export function pickSession(views: Views): void {
  new Picker(views, "Open Session", "Choose a session, or type words to search").show();
}

/** The picker with hints for the full-text search. */
export function searchSessions(views: Views): void {
  new Picker(views, "Search Sessions", "Words, \"phrases in quotes\", prefixes*").show();
}

class Picker {
  readonly #views: Views;
  readonly #pick = vscode.window.createQuickPick<Item>();
  #timer: NodeJS.Timeout | undefined;
  #request: vscode.CancellationTokenSource | undefined;
  /** Whether the listed items are results for an earlier text. */
  #stale = true;
  /** Enter was pressed while the items were stale. It accepts the first of the next items. */
  #accepted = false;
  #showsAutomated = showsAutomated();

  constructor(views: Views, title: string, placeholder: string) {
    this.#views = views;
    this.#pick.title = title;
    this.#pick.placeholder = placeholder;
    this.#pick.matchOnDescription = true;
    this.#pick.matchOnDetail = true;
    this.#pick.onDidChangeValue(() => {
      this.#request?.cancel(); // its result is outdated
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#update(), TYPING_DELAY_MS);
      this.#pick.busy = true;
      this.#stale = true;
      this.#accepted = false;
    });
    this.#pick.onDidAccept(() => {
      const [chosen] = this.#pick.selectedItems;
      if (this.#stale && chosen === firstAcceptable(this.#pick.items)) {
        this.#accepted = true;
      } else {
        this.#accept(chosen);
      }
    });
    this.#pick.onDidTriggerItemButton(({ item, button }) => {
      const { command, closes } = button as ItemButton;
      if (closes) {
        this.#pick.hide();
      }
      void vscode.commands.executeCommand(command, item.session).then(() => {
        if (!closes) {
          void this.#update();
        }
      });
    });
    this.#pick.onDidHide(() => {
      clearTimeout(this.#timer);
      this.#request?.cancel();
      this.#pick.dispose();
    });
  }

  show(): void {
    this.#pick.show();
    void this.#update();
  }

  #accept(chosen: Item | undefined): void {
    if (chosen?.stays !== true) {
      this.#pick.hide();
    }
    if (chosen?.accept !== undefined) {
      void attempt(chosen.accept);
    }
  }

  async #update(): Promise<void> {
    this.#request?.cancel();
    const request = (this.#request = new vscode.CancellationTokenSource());
    const typed = this.#pick.value.trim();
    this.#pick.busy = true;
    try {
      const items = await this.#items(typed, request.token);
      if (!request.token.isCancellationRequested) {
        this.#pick.items = items;
        this.#pick.busy = false;
        this.#stale = false;
        const found = this.#accepted ? firstAcceptable(items) : undefined;
        if (found !== undefined) {
          this.#accept(found);
        }
      }
    } catch (error) {
      if (!request.token.isCancellationRequested) {
        this.#pick.hide();
        showError(error);
      }
    } finally {
      request.dispose();
    }
  }

  async #items(typed: string, token: vscode.CancellationToken): Promise<Item[]> {
    const { daemon } = this.#views;
    // Words find automated sessions, too.
    const hides = typed === "" && !this.#showsAutomated;
    const filter = { ...(typed !== "" && { query: typed }), ...(hides && { automated: false }) };
    const list = (params: ListParams): Promise<ListResult> => daemon.request("session/list", params, token);
    const listing = list({ includeDrafts: true, limit: MAX_SESSIONS, ...filter });
    const counting = hides ? countAutomated(list, { includeDrafts: true }) : Promise.resolve(0);
    counting.catch(() => undefined); // it is awaited below, unless the list fails first
    const searched = searchQuery(this.#pick.value);
    const searching =
      searched === "" ? undefined : daemon.request("session/search", { query: searched, limit: MAX_HITS }, token);
    searching?.catch(() => undefined); // it is awaited below, unless the list fails first
    const { sessions } = await listing;
    const items: Item[] = typed === "" ? [this.#continue()] : [];
    items.push(...separated("sessions", this.#sessions(sessions)));
    const hiddenCount = await counting;
    if (hiddenCount > 0) {
      items.push(this.#hidden(hiddenCount));
    }
    const timer = setTimeout(() => {
      if (!token.isCancellationRequested) {
        this.#pick.items = items; // a search may wait for texts that were appended just now
      }
    }, SEARCH_DELAY_MS);
    const found = await searching?.finally(() => clearTimeout(timer));
    clearTimeout(timer);
    const all = [...items, ...separated("entries", this.#hits(found?.hits ?? []))];
    if (found !== undefined && found.unsearched.sessionCount > 0) {
      all.push({ label: `${count(found.unsearched.sessionCount, "session is", "sessions are")} not fully searched yet`, alwaysShow: true });
    }
    return all;
  }

  #continue(): Item {
    return {
      label: "Continue",
      description: "the most recently used session of this project",
      iconPath: new vscode.ThemeIcon("debug-continue"),
      alwaysShow: true,
      accept: async () => vscode.commands.executeCommand("sessiond.continueSession"),
    };
  }

  #hidden(amount: number): Item {
    return {
      label: hiddenLabel(amount),
      description: "show them",
      iconPath: new vscode.ThemeIcon("eye-closed"),
      alwaysShow: true,
      stays: true,
      accept: async () => {
        this.#showsAutomated = true;
        await this.#update();
      },
    };
  }

  #sessions(sessions: readonly ListedSession[]): Item[] {
    const rows = sessions.map((session) => {
      return { shown: shownOf(this.#session(session)), facts: sessionFacts(session), id: session.sessionId };
    });
    const added = distinctions(rows);
    return sessions.map((session, place) => this.#session(session, added[place]));
  }

  #session(session: ListedSession, added?: readonly string[]): Item {
    const words = sessionWords(session, session.sessionId === this.#views.current.sessionId, Date.now(), added);
    return {
      label: quickPickText(words.label),
      description: quickPickText(words.description),
      detail: quickPickText(oneLine(session.cwd)),
      iconPath: themeIcon(words.icon),
      alwaysShow: true, // the daemon found it, perhaps by text that is not shown here
      session,
      buttons: BUTTONS,
      accept: async () => {
        await openSession(this.#views, session.sessionId);
        await this.#views.tree.focus();
      },
    };
  }

  #hits(hits: readonly Hit[]): Item[] {
    const rows = hits.map((hit) => ({ shown: shownOf(this.#hit(hit)), facts: hitFacts(hit), id: hit.entryId ?? hit.sessionId }));
    const added = distinctions(rows);
    return hits.map((hit, place) => this.#hit(hit, added[place]));
  }

  #hit(hit: Hit, added: readonly string[] = []): Item {
    const entryId = hit.labeledEntryId ?? hit.entryId;
    const { sessionId } = hit;
    const title = titleOf({ sessionId, title: hit.title, firstPrompt: hit.firstPrompt });
    return {
      label: quickPickText(oneLine(hit.snippet)),
      description: quickPickText([roleOf(hit), ago(hit.timestamp, Date.now())].filter(Boolean).join(" · ")),
      detail: quickPickText([...added, title, oneLine(path.basename(hit.cwd))].join(" · ")),
      iconPath: new vscode.ThemeIcon(hit.onPath ? "comment" : "git-branch"),
      alwaysShow: true,
      session: hit,
      accept: async () =>
        entryId === null
          ? openSession(this.#views, sessionId)
          : showInTree(this.#views, { sessionId, entryId }),
    };
  }
}

function shownOf({ label, description, detail }: Item): string {
  return [label, description, detail].join(" ");
}

/** The item that Enter accepts if the user has not moved in the list. */
function firstAcceptable(items: readonly Item[]): Item | undefined {
  return items.find(({ accept }) => accept !== undefined);
}

function separated(label: string, items: Item[]): Item[] {
  return items.length === 0 ? [] : [{ label, kind: vscode.QuickPickItemKind.Separator }, ...items];
}
