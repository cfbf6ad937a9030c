// The session picker: the newest sessions first, or the results of a full-text search as the user types.
import * as path from "node:path";
import * as vscode from "vscode";
import { searchQuery } from "./model/searchQuery.ts";
import { ago, oneLine, quickPickText } from "./model/text.ts";
import { roleOf, sessionWords, titleOf } from "./model/words.ts";
import type { Hit, ListedSession } from "./protocol.ts";
import { showInTree } from "./commands/entries.ts";
import type { Views } from "./commands/target.ts";
import { attempt, showError } from "./userMessages.ts";

/** Milliseconds between a key and a search. */
const PAUSE = 150;
/** Milliseconds after which sessions are shown without what is still searched. */
const LATE = 300;
const MOST_SESSIONS = 100;
const MOST_HITS = 50;

interface Item extends vscode.QuickPickItem {
  readonly choose?: () => Promise<unknown>;
  readonly session?: { readonly sessionId: string };
}

interface ItemButton extends vscode.QuickInputButton {
  readonly command: string;
  /** Whether the picker has nothing more to do afterwards. */
  readonly ends: boolean;
}

const BUTTONS: readonly ItemButton[] = [
  { command: "sessiond.openSessionFile", iconPath: new vscode.ThemeIcon("file-code"), tooltip: "Show Session File", ends: true },
  { command: "sessiond.forkSession", iconPath: new vscode.ThemeIcon("repo-forked"), tooltip: "Fork Session", ends: true },
  { command: "sessiond.deleteSession", iconPath: new vscode.ThemeIcon("trash"), tooltip: "Delete Session", ends: false },
];

/** Let a session be chosen, or an entry of one, and show it. */
export function pickSession(views: Views): void {
  new Picker(views, "Open Session", "Choose a session, or type words to search for").show();
}

/** The same, for who looks for words. */
export function searchSessions(views: Views): void {
  new Picker(views, "Search Sessions", "Words, \"phrases in quotes\", beginnings*").show();
}

class Picker {
  readonly #views: Views;
  readonly #pick = vscode.window.createQuickPick<Item>();
  #timer: NodeJS.Timeout | undefined;
  #asking: vscode.CancellationTokenSource | undefined;
  /** What is listed answers what was typed before. */
  #stale = true;
  /** Enter was pressed meanwhile: it means the first of what is to come. */
  #accepted = false;

  constructor(views: Views, title: string, placeholder: string) {
    this.#views = views;
    this.#pick.title = title;
    this.#pick.placeholder = placeholder;
    this.#pick.matchOnDescription = true;
    this.#pick.matchOnDetail = true;
    this.#pick.onDidChangeValue(() => {
      this.#asking?.cancel(); // its answer is of no use any more
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#ask(), PAUSE);
      this.#pick.busy = true;
      this.#stale = true;
      this.#accepted = false;
    });
    this.#pick.onDidAccept(() => {
      const [chosen] = this.#pick.selectedItems;
      if (this.#stale && chosen === first(this.#pick.items)) {
        this.#accepted = true;
      } else {
        this.#choose(chosen);
      }
    });
    this.#pick.onDidTriggerItemButton(({ item, button }) => {
      const { command, ends } = button as ItemButton;
      if (ends) {
        this.#pick.hide();
      }
      void vscode.commands.executeCommand(command, item.session).then(() => {
        if (!ends) {
          void this.#ask();
        }
      });
    });
    this.#pick.onDidHide(() => {
      clearTimeout(this.#timer);
      this.#asking?.cancel();
      this.#pick.dispose();
    });
  }

  show(): void {
    this.#pick.show();
    void this.#ask();
  }

  #choose(chosen: Item | undefined): void {
    this.#pick.hide();
    if (chosen?.choose !== undefined) {
      void attempt(chosen.choose);
    }
  }

  async #ask(): Promise<void> {
    this.#asking?.cancel();
    const asking = (this.#asking = new vscode.CancellationTokenSource());
    const typed = this.#pick.value.trim();
    this.#pick.busy = true;
    try {
      const items = await this.#items(typed, asking.token);
      if (!asking.token.isCancellationRequested) {
        this.#pick.items = items;
        this.#pick.busy = false;
        this.#stale = false;
        const found = this.#accepted ? first(items) : undefined;
        if (found !== undefined) {
          this.#choose(found);
        }
      }
    } catch (error) {
      if (!asking.token.isCancellationRequested) {
        this.#pick.hide();
        showError(error);
      }
    } finally {
      asking.dispose();
    }
  }

  async #items(typed: string, token: vscode.CancellationToken): Promise<Item[]> {
    const { daemon } = this.#views;
    const query = typed === "" ? {} : { query: typed };
    const listing = daemon.request("session/list", { includeDrafts: true, limit: MOST_SESSIONS, ...query }, token);
    const question = searchQuery(this.#pick.value);
    const searching =
      question === "" ? undefined : daemon.request("session/search", { query: question, limit: MOST_HITS }, token);
    searching?.catch(() => undefined); // it is awaited below, unless the list fails first
    const { sessions } = await listing;
    const items: Item[] = typed === "" ? [this.#continue()] : [];
    items.push(...separated("sessions", sessions.map((session) => this.#session(session))));
    const late = setTimeout(() => {
      if (!token.isCancellationRequested) {
        this.#pick.items = items; // a search may have to wait for texts that came just now
      }
    }, LATE);
    const found = await searching?.finally(() => clearTimeout(late));
    clearTimeout(late);
    const all = [...items, ...separated("entries", (found?.hits ?? []).map((hit) => this.#hit(hit)))];
    if (found !== undefined && found.unsearchedCount > 0) {
      all.push({ label: `${found.unsearchedCount} sessions are not searched to their end yet`, alwaysShow: true });
    }
    return all;
  }

  #continue(): Item {
    return {
      label: "Continue",
      description: "the session of this folder that was used last",
      iconPath: new vscode.ThemeIcon("debug-continue"),
      alwaysShow: true,
      choose: async () => vscode.commands.executeCommand("sessiond.continueSession"),
    };
  }

  #session(session: ListedSession): Item {
    const words = sessionWords(session, session.sessionId === this.#views.current.sessionId, Date.now());
    return {
      label: quickPickText(words.label),
      description: quickPickText(words.description),
      detail: quickPickText(oneLine(session.cwd)),
      iconPath: new vscode.ThemeIcon(words.icon.id),
      alwaysShow: true, // the daemon has found it, by what may not be seen here
      session,
      buttons: BUTTONS,
      choose: async () => {
        await this.#views.current.open({ sessionId: session.sessionId });
        await this.#views.tree.focus();
      },
    };
  }

  #hit(hit: Hit): Item {
    const entryId = hit.labeledEntryId ?? hit.entryId;
    const { sessionId } = hit;
    const folder = path.basename(hit.cwd);
    return {
      label: quickPickText(oneLine(hit.snippet)),
      description: quickPickText([roleOf(hit), ago(hit.timestamp, Date.now())].filter(Boolean).join(" · ")),
      detail: quickPickText(`${titleOf({ sessionId, title: hit.title, firstPrompt: null })} · ${oneLine(folder)}`),
      iconPath: new vscode.ThemeIcon(hit.onPath ? "comment" : "git-branch"),
      alwaysShow: true,
      session: hit,
      choose: async () =>
        entryId === null
          ? this.#views.current.open({ sessionId })
          : showInTree(this.#views, { sessionId, entryId }),
    };
  }
}

/** The item that Enter accepts if the user has not moved in the list. */
function first(items: readonly Item[]): Item | undefined {
  return items.find(({ choose }) => choose !== undefined);
}

function separated(label: string, items: Item[]): Item[] {
  return items.length === 0 ? [] : [{ label, kind: vscode.QuickPickItemKind.Separator }, ...items];
}
