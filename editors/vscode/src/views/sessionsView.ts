// The Sessions view: all sessions by folder. While it is visible, it watches the list.
import * as path from "node:path";
import * as vscode from "vscode";
import type { Current } from "../current.ts";
import type { Daemon, DaemonState } from "../daemon/daemon.ts";
import { type ComparedRow, distinctions, sessionFacts } from "../model/distinctions.ts";
import { type Group, SessionsModel } from "../model/sessions.ts";
import { count, fit, oneLine } from "../model/text.ts";
import { type KnownSession, NARROW_TITLE_LENGTH, sessionTooltip, sessionWords } from "../model/words.ts";
import type { ListParams, SessionInfo, UnwatchParams, WatchParams } from "../protocol.ts";
import { showsAutomated, onAutomatedChange } from "../settings.ts";
import { type FolderElement, HIDDEN, type HiddenElement, Interned, type MoreElement, type SessionElement } from "./elements.ts";
import { hiddenItem } from "./hiddenRow.ts";
import { themeIcon } from "./themeIcon.ts";

type Element = FolderElement | SessionElement | MoreElement | HiddenElement;

const ID = "sessiond.sessions";

const MINUTE_MS = 60_000;
/** Milliseconds between the first of several changes and the rendering. */
const RENDER_DELAY_MS = 100;
/** Milliseconds between an append to a session in memory and the request for its counts. */
const INFO_DELAY_MS = 1000;

export class SessionsView implements vscode.TreeDataProvider<Element>, vscode.Disposable {
  readonly #daemon: Daemon;
  readonly #current: Current;
  readonly #changed = new vscode.EventEmitter<Element | undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<Element>;
  readonly #model: SessionsModel;
  readonly #elements = new Interned<Element>();
  readonly #subscriptions: vscode.Disposable[];
  #groups: readonly Group[] = [];
  /** The distinctions of rows that look the same, by session. */
  readonly #distinctions = new Map<string, readonly string[]>();
  #timer: NodeJS.Timeout | undefined;
  #shown: string | undefined;
  /** The shown session whose row was revealed last. */
  #revealed: string | undefined;
  #epoch: string | undefined;
  /** Sessions in memory for which `session/info` is scheduled. */
  readonly #appendedIds = new Set<string>();

  constructor(daemon: Daemon, current: Current) {
    this.#daemon = daemon;
    this.#current = current;
    const requests = {
      list: (params: ListParams) => daemon.request("session/list", params),
      watch: (params: WatchParams) => daemon.request("server/watch", params),
      unwatch: (params: UnwatchParams) => daemon.request("server/unwatch", params),
    };
    this.#model = new SessionsModel(folders(), requests, () => this.#scheduleRender(), showsAutomated());
    this.#view = vscode.window.createTreeView(ID, { treeDataProvider: this, showCollapseAll: true });
    const clock = setInterval(() => this.#view.visible && this.#changed.fire(undefined), MINUTE_MS);
    this.#subscriptions = [
      this.#view,
      this.#changed,
      new vscode.Disposable(() => clearInterval(clock)),
      new vscode.Disposable(() => clearTimeout(this.#timer)),
      daemon.onDidChangeState((state) => this.#stateChanged(state)),
      daemon.onNotification("server/sessionsChanged", (note) => this.#model.sessionsChanged(note)),
      daemon.onNotification("server/watchLapsed", (note) => void this.#model.watchLapsed(note)),
      daemon.onNotification("session/created", ({ session }) => this.#ephemeralChanged(session)),
      daemon.onNotification("session/changed", ({ session }) => this.#ephemeralChanged(session)),
      daemon.onNotification("session/restored", ({ session }) => this.#ephemeralChanged(session)),
      daemon.onNotification("session/deleted", ({ sessionId }) => this.#model.ephemeralDeleted(sessionId)),
      daemon.onNotification("session/appended", ({ sessionId }) => this.#appended(sessionId)),
      current.onDidChange(() => {
        if (this.#shown !== current.sessionId) {
          this.#shown = current.sessionId;
          this.#scheduleRender();
        }
      }),
      vscode.workspace.onDidChangeWorkspaceFolders(() => {
        this.#model.setFolders(folders());
        this.#startOrStop();
      }),
      onAutomatedChange(() => {
        this.#model.showAutomated(showsAutomated());
        this.#startOrStop();
      }),
      this.#view.onDidChangeVisibility(() => this.#startOrStop()),
    ];
    this.#stateChanged(daemon.state);
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  /** The selected session, else the one that the Tree shows. */
  get target(): string | undefined {
    const [selected] = this.#view.selection;
    return selected?.kind === "session" ? selected.sessionId : this.#current.sessionId;
  }

  get query(): string {
    return this.#model.query;
  }

  /** The data of a session, if it is up to date. */
  session(sessionId: string): KnownSession | undefined {
    const session = this.#current.session;
    const listed = this.#view.visible ? this.#model.get(sessionId) : undefined;
    return listed ?? (session?.sessionId === sessionId ? session : undefined);
  }

  async refresh(): Promise<void> {
    await (this.#isWatching() ? this.#model.refresh() : this.#focus());
  }

  /** Show only the sessions that match a query; "" for all. */
  async filter(query: string): Promise<void> {
    this.#model.query = query;
    this.#updateTexts();
    await (this.#isWatching() ? this.#model.start() : this.#focus());
  }

  loadMore({ cwd }: MoreElement): Promise<void> {
    return this.#model.loadMore(cwd);
  }

  // --- TreeDataProvider --------------------------------------------------------------------------------------

  getChildren(element?: Element): Element[] {
    if (element === undefined) {
      this.#groups = this.#model.groups();
      const folders: Element[] = this.#groups.map(({ cwd }) => this.#folder(cwd));
      const more = this.#model.more ? [this.#more(null)] : [];
      return [...folders, ...more, ...(this.#model.hiddenCount > 0 ? [HIDDEN] : [])];
    }
    const group = element.kind === "folder" ? this.#groups.find(({ cwd }) => cwd === element.cwd) : undefined;
    if (group === undefined) {
      return [];
    }
    this.#distinguish(group.sessions);
    const sessions: Element[] = group.sessions.map(({ sessionId }) => this.#session(sessionId));
    return group.more ? [...sessions, this.#more(group.cwd)] : sessions;
  }

  getParent(element: Element): Element | undefined {
    const session = element.kind === "session" ? this.#model.get(element.sessionId) : undefined;
    return session === undefined ? undefined : this.#folder(this.#model.groupOf(session));
  }

  getTreeItem(element: Element): vscode.TreeItem {
    switch (element.kind) {
      case "folder":
        return this.#folderItem(element);
      case "session":
        return this.#sessionItem(element);
      case "more":
        return this.#moreItem(element);
      case "hidden":
        return hiddenItem(this.#model.hiddenCount);
    }
  }

  resolveTreeItem(item: vscode.TreeItem, element: Element): vscode.TreeItem {
    const session = element.kind === "session" ? this.#model.get(element.sessionId) : undefined;
    if (session !== undefined) {
      item.tooltip = new vscode.MarkdownString(sessionTooltip(session));
    } else if (element.kind === "folder") {
      item.tooltip = oneLine(element.cwd);
    }
    return item;
  }

  #folderItem(element: FolderElement): vscode.TreeItem {
    const group = this.#groups.find(({ cwd }) => cwd === element.cwd);
    const { Expanded, Collapsed } = vscode.TreeItemCollapsibleState;
    const hasCurrent = group?.sessions.some(({ sessionId }) => sessionId === this.#current.sessionId);
    const isExpanded = group?.here || hasCurrent || this.#groups.length === 1;
    const name = oneLine(path.basename(element.cwd)) || oneLine(element.cwd) || "(no folder)";
    const item = new vscode.TreeItem(name, isExpanded ? Expanded : Collapsed);
    const amount = count(group?.sessions.length ?? 0, "session");
    item.id = group?.id ?? `folder:${element.cwd}`;
    item.description = `${group?.more ? "more than " : ""}${amount} · ${fit(oneLine(path.dirname(element.cwd)), 60)}`;
    item.iconPath = new vscode.ThemeIcon(group?.here ? "root-folder" : "folder");
    item.contextValue = group?.here ? "folder+here" : "folder";
    item.accessibilityInformation = { label: `folder ${oneLine(element.cwd)}, ${amount}` };
    return item;
  }

  #sessionItem(element: SessionElement): vscode.TreeItem {
    const session = this.#model.get(element.sessionId);
    if (session === undefined) {
      return new vscode.TreeItem("");
    }
    const added = this.#distinctions.get(element.sessionId);
    const words = sessionWords(session, element.sessionId === this.#current.sessionId, Date.now(), added);
    const item = new vscode.TreeItem(words.label);
    item.id = `session:${element.sessionId}`;
    item.description = [words.description, this.#subfolder(session)].filter(Boolean).join(" · ");
    item.iconPath = themeIcon(words.icon);
    item.contextValue = words.context;
    item.accessibilityInformation = { label: words.accessibleText };
    item.command = { command: "sessiond.openSession", title: "Show Tree", arguments: [element] };
    return item;
  }

  /** Find the distinctions of the rows of a group. */
  #distinguish(sessions: readonly KnownSession[]): void {
    const now = Date.now();
    const rows = sessions.map((session) => {
      const { label, description } = sessionWords(session, false, now);
      const shown = `${fit(label, NARROW_TITLE_LENGTH)} ${description} ${this.#subfolder(session)}`;
      return { shown, facts: sessionFacts(session), id: session.sessionId };
    });
    distinctions(rows).forEach((added, place) => this.#distinctions.set((rows[place] as ComparedRow).id, added));
  }

  /** The folder of a session as seen from that of its group; empty if they are the same. */
  #subfolder(session: KnownSession): string {
    return fit(oneLine(path.relative(this.#model.groupOf(session), session.cwd)), 40);
  }

  #moreItem(element: MoreElement): vscode.TreeItem {
    const item = new vscode.TreeItem("More sessions …");
    item.id = `more:${element.cwd ?? ""}`;
    item.iconPath = new vscode.ThemeIcon("fold-down");
    item.contextValue = "more";
    item.command = { command: "sessiond.sessions.more", title: "Load More", arguments: [element] };
    return item;
  }

  #folder(cwd: string): Element {
    return this.#elements.get(`folder:${cwd}`, () => ({ kind: "folder", cwd }));
  }

  #session(sessionId: string): Element {
    return this.#elements.get(`session:${sessionId}`, () => ({ kind: "session", sessionId }));
  }

  #more(cwd: string | null): Element {
    return this.#elements.get(`more:${cwd ?? ""}`, () => ({ kind: "more", cwd }));
  }

  // --- following the daemon ----------------------------------------------------------------------------------

  #isWatching(): boolean {
    return this.#view.visible && this.#daemon.state.kind === "attached";
  }

  /** Watch the list while the view is visible. */
  #startOrStop(): void {
    if (this.#isWatching()) {
      void this.#model.start();
    } else if (this.#daemon.state.kind === "attached") {
      this.#model.stop();
    } else {
      this.#model.disconnected();
    }
  }

  /** A view that becomes visible watches the list. */
  async #focus(): Promise<void> {
    await vscode.commands.executeCommand(`${ID}.focus`);
  }

  #stateChanged(state: DaemonState): void {
    if (state.kind === "attached" && state.epoch !== this.#epoch) {
      this.#epoch = state.epoch;
      this.#model.forgetEphemeral();
    }
    this.#startOrStop();
    this.#updateTexts();
  }

  #ephemeralChanged(session: SessionInfo): void {
    if (session.ephemeral) {
      this.#model.ephemeralChanged(session);
    }
  }

  /** Update the times and counts of a session in memory. Those of other sessions come with the list. */
  #appended(sessionId: string): void {
    if (!this.#model.isEphemeral(sessionId) || this.#appendedIds.has(sessionId)) {
      return;
    }
    this.#appendedIds.add(sessionId);
    setTimeout(() => {
      this.#appendedIds.delete(sessionId);
      this.#daemon.request("session/info", { sessionId }).then(
        ({ session }) => this.#ephemeralChanged(session),
        () => undefined, // deleted; a notification follows
      );
    }, INFO_DELAY_MS);
  }

  // --- rendering ---------------------------------------------------------------------------------------------

  #scheduleRender(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#changed.fire(undefined);
      this.#updateTexts();
      void this.#revealCurrent();
    }, RENDER_DELAY_MS);
  }

  /** Select the row of the shown session, once for each session that is shown. */
  async #revealCurrent(): Promise<void> {
    const { sessionId } = this.#current;
    const isListed = sessionId !== undefined && this.#model.get(sessionId) !== undefined;
    if (!isListed || sessionId === this.#revealed || !this.#view.visible) {
      return;
    }
    this.#revealed = sessionId;
    const [selected] = this.#view.selection;
    if (selected?.kind !== "session" || selected.sessionId !== sessionId) {
      try {
        await this.#view.reveal(this.#session(sessionId), { select: true, focus: false });
      } catch {
        // The row was removed or the view was closed meanwhile.
      }
    }
  }

  #updateTexts(): void {
    const attached = this.#daemon.state.kind === "attached";
    this.#view.message =
      !attached && this.#model.size > 0
        ? "sessiond is not attached. This list may be out of date."
        : oneLine(attached ? this.#model.problem : "");
    this.#view.description = this.#model.query === "" ? "" : `“${fit(oneLine(this.#model.query), 30)}”`;
    const shows = !this.#model.loaded ? "loading" : this.#model.size > 0 ? "sessions" : "none";
    void vscode.commands.executeCommand("setContext", "sessiond.sessions.shows", shows);
    void vscode.commands.executeCommand("setContext", "sessiond.sessions.query", this.#model.query !== "");
  }
}

function folders(): string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter(({ uri }) => uri.scheme === "file")
    .map(({ uri }) => uri.fsPath);
}
