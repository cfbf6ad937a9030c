// The Tree view: renders the tree model of the shown session.
import * as vscode from "vscode";
import type { Current } from "../current.ts";
import type { Daemon } from "../daemon/daemon.ts";
import { beginsBranch, difference, Rows } from "../model/rows.ts";
import { count, fit, oneLine } from "../model/text.ts";
import { type Filter, FILTERS, TreeModel } from "../model/tree.ts";
import { rowWords, sessionContext, titleOf } from "../model/words.ts";
import { type EntryElement, Interned, type GapElement } from "./elements.ts";
import { themeIcon } from "./themeIcon.ts";

type Element = EntryElement | GapElement;

/** In characters. */
const MAX_TOOLTIP_LENGTH = 2000;
const MINUTE_MS = 60_000;

const ID = "sessiond.tree";

const EARLIER: GapElement = { kind: "earlier" };
const LATER: GapElement = { kind: "later" };

export class TreeView implements vscode.TreeDataProvider<Element>, vscode.Disposable {
  readonly #daemon: Daemon;
  readonly #current: Current;
  readonly #changed = new vscode.EventEmitter<Element[] | undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<Element>;
  readonly #elements = new Interned<EntryElement>();
  readonly #subscriptions: vscode.Disposable[];
  #model: TreeModel | undefined;
  #rendered = Rows.none;
  /** The leaf that was followed last. */
  #leafId: string | null = null;
  /** The tip that was revealed last. */
  #revealedTip: string | undefined;
  /** Resolved when the last requested reveal has ended. */
  #revealed: Promise<void> = Promise.resolve();

  constructor(daemon: Daemon, current: Current) {
    this.#daemon = daemon;
    this.#current = current;
    this.#view = vscode.window.createTreeView(ID, { treeDataProvider: this, showCollapseAll: true });
    const clock = setInterval(() => this.#view.visible && this.#changed.fire(undefined), MINUTE_MS);
    this.#subscriptions = [
      this.#view,
      this.#changed,
      new vscode.Disposable(() => clearInterval(clock)),
      current.onDidOpen((session) => this.#sessionOpened(session)),
      current.onDidChange(() => this.#updateTexts()),
      daemon.onDidChangeState(() => this.#updateTexts()),
      daemon.onNotification("session/treeChanged", (note) => this.#model?.received(note)),
      daemon.onNotification("session/treeLapsed", (note) => this.#model?.received(note)),
      this.#view.onDidChangeVisibility(({ visible }) => visible && this.#followLeaf()),
      this.#view.onDidCollapseElement(({ element }) => this.#collapsed(element)),
    ];
    this.#updateTexts();
  }

  dispose(): void {
    this.#model?.dispose();
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  get visible(): boolean {
    return this.#view.visible;
  }

  get onDidChangeVisibility(): vscode.Event<unknown> {
    return this.#view.onDidChangeVisibility;
  }

  /** Select an entry of the shown session, unless the view or its filter hides it. The focus stays where it is. */
  async select({ sessionId, entryId }: { sessionId: string; entryId: string }): Promise<void> {
    const model = this.#model;
    if (!this.#view.visible || model?.sessionId !== sessionId) {
      return;
    }
    const isWhole = model.query === "" && (model.filter === "default" || model.filter === "all");
    if (model.rows.get(entryId) ?? (isWhole && (await model.loadRow(entryId)))) {
      await this.#reveal(entryId, true);
    }
  }

  get model(): TreeModel | undefined {
    return this.#model;
  }

  /** The selected entry, else the row that shows the leaf. */
  get target(): EntryElement | undefined {
    const [selected] = this.#view.selection;
    if (selected?.kind === "entry" && selected.sessionId === this.#model?.sessionId) {
      return selected;
    }
    const tip = this.#model?.rows.tip;
    return tip && this.#element(tip.id);
  }

  // --- user actions ------------------------------------------------------------------------------------------

  /** Show the view and focus it. */
  async focus(): Promise<void> {
    await vscode.commands.executeCommand(`${ID}.focus`);
  }

  async setView(filter: Filter, query: string): Promise<void> {
    const selected = this.#view.selection[0];
    await this.#model?.setView(filter, query);
    this.#updateTexts();
    if (selected?.kind === "entry" && this.#model?.rows.get(selected.entryId) !== undefined) {
      await this.#reveal(selected.entryId, true);
    }
  }

  /** Load, reveal and select an entry. Returns whether there is such an entry. */
  async reveal(entryId: string): Promise<boolean> {
    const model = this.#model;
    let row = await model?.loadRow(entryId);
    if (model !== undefined && row === undefined && (model.filter !== "all" || model.query !== "")) {
      model.filter = "all"; // the filter or the query hides it
      model.query = "";
      row = await model.loadRow(entryId);
    }
    if (row === undefined || model !== this.#model) {
      return false;
    }
    this.#updateTexts();
    await this.#reveal(entryId, true);
    return true;
  }

  // --- TreeDataProvider --------------------------------------------------------------------------------------

  async getChildren(element?: Element): Promise<Element[]> {
    const model = this.#model;
    if (model === undefined || (element !== undefined && !this.#isOfModel(element))) {
      return [];
    }
    const parent = element?.kind === "entry" ? element.entryId : null;
    if (parent !== null) {
      await model.openBranch(parent); // VS Code requests children when the row is expanded
    }
    if (model !== this.#model) {
      return [];
    }
    const { rows } = model;
    const children: Element[] = rows.children(parent).map((id) => this.#element(id));
    if (element === undefined) {
      if (rows.before > 0) {
        children.unshift(EARLIER);
      }
      if (rows.later > 0) {
        children.push(LATER);
      }
    }
    return children;
  }

  getParent(element: Element): Element | undefined {
    const under = this.#isOfModel(element) ? this.#model?.rows.rendered(element.entryId)?.under : null;
    return under === null || under === undefined ? undefined : this.#element(under);
  }

  getTreeItem(element: Element): vscode.TreeItem {
    return element.kind === "entry" ? this.#entryItem(element) : this.#gapItem(element);
  }

  async resolveTreeItem(
    item: vscode.TreeItem,
    element: Element,
    token: vscode.CancellationToken,
  ): Promise<vscode.TreeItem> {
    if (element.kind === "entry") {
      const { sessionId, entryId } = element;
      try {
        // The document fences all text of the transcript. A truncated fence extends to the end.
        const { text } = await this.#daemon.request("view/entry", { sessionId, entryId }, token);
        item.tooltip = new vscode.MarkdownString(fit(text, MAX_TOOLTIP_LENGTH));
      } catch {
        item.tooltip = oneLine(typeof item.label === "string" ? item.label : item.label?.label);
      }
    }
    return item;
  }

  #entryItem(element: EntryElement): vscode.TreeItem {
    const rendered = this.#isOfModel(element) ? this.#model?.rows.rendered(element.entryId) : undefined;
    if (rendered === undefined) {
      return new vscode.TreeItem(""); // removed during the request; the next refresh drops it
    }
    const words = rowWords(rendered.row, this.#model?.rows.tip === rendered.row, Date.now());
    const { None, Expanded, Collapsed } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(
      { label: words.label, highlights: words.labelLength > 0 ? [[0, words.labelLength]] : [] },
      rendered.row.hiddenCount > 0 ? Collapsed : rendered.children.length > 0 ? Expanded : None,
    );
    item.id = `${element.sessionId}/${element.entryId}`;
    item.description = words.description;
    item.iconPath = themeIcon(words.icon);
    item.contextValue = words.context;
    item.accessibilityInformation = { label: words.accessibleText };
    const target = { ...element, preserveFocus: true };
    item.command = { command: "sessiond.showTranscript", title: "Show Transcript", arguments: [target] };
    return item;
  }

  #gapItem({ kind }: GapElement): vscode.TreeItem {
    const { rows } = this.#model as TreeModel;
    const amount = kind === "earlier" ? rows.before : rows.later;
    const item = new vscode.TreeItem(`${count(amount, `${kind} entry`, `${kind} entries`)} …`);
    item.id = kind;
    item.description = "load more";
    item.iconPath = new vscode.ThemeIcon(kind === "earlier" ? "fold-up" : "fold-down");
    item.contextValue = kind;
    item.command = { command: "sessiond.tree.more", title: "Load More", arguments: [{ kind }] };
    return item;
  }

  /** Forks have entries with the same ids, so the session of an element is compared, too. */
  #isOfModel(element: Element): element is EntryElement {
    return element.kind === "entry" && element.sessionId === this.#model?.sessionId;
  }

  #element(entryId: string): EntryElement {
    const sessionId = (this.#model as TreeModel).sessionId;
    return this.#elements.get(entryId, () => ({ kind: "entry", sessionId, entryId }));
  }

  // --- changes -----------------------------------------------------------------------------------------------

  #collapsed(element: Element): void {
    const model = this.#model;
    const row = this.#isOfModel(element) ? model?.rows.get(element.entryId) : undefined;
    if (row !== undefined && beginsBranch(row) && model?.opensAll === false) {
      model.closeBranch(row.id);
    }
  }

  #sessionOpened(session: { sessionId: string; leafId: string | null }): void {
    if (this.#model?.sessionId === session.sessionId) {
      void this.#model.refresh(); // the watch may have ended with its connection
      return;
    }
    const configured = vscode.workspace.getConfiguration("sessiond").get<Filter>("tree.filter", "default");
    const model = new TreeModel(
      session,
      { filter: FILTERS.includes(configured) ? configured : "default", query: "" },
      {
        watch: (params) => this.#daemon.request("session/watchTree", params),
        unwatch: (params) => this.#daemon.request("server/unwatch", params),
      },
      (changed) => this.#modelChanged(changed),
    );
    this.#replaceModel(model);
    void model.load();
  }

  #replaceModel(model: TreeModel | undefined): void {
    this.#model?.dispose();
    this.#model = model;
    this.#elements.clear();
    this.#rendered = Rows.none;
    this.#revealedTip = undefined;
    this.#changed.fire(undefined);
  }

  #modelChanged(model: TreeModel): void {
    if (model !== this.#model) {
      return;
    }
    const before = this.#rendered;
    this.#rendered = model.rows;
    const changed = difference(before, model.rows);
    if (changed === "all") {
      this.#changed.fire(undefined);
    } else if (changed.length > 0) {
      this.#changed.fire(changed.map((id) => this.#element(id)));
    }
    this.#updateTexts();
    this.#followLeaf(before.tip?.id);
  }

  /** Follow the leaf, unless following is off. The selection moves along if it was on the leaf. */
  #followLeaf(before?: string): void {
    const model = this.#model;
    if (
      model === undefined ||
      !this.#view.visible ||
      !vscode.workspace.getConfiguration("sessiond").get("tree.follow", true)
    ) {
      return;
    }
    const hasMoved = model.leafId !== this.#leafId;
    this.#leafId = model.leafId;
    const tip = model.rows.tip?.id;
    if (tip === undefined && hasMoved && model.rows.before + model.rows.later > 0) {
      void model.load(); // the leaf is not among the loaded rows
    }
    if (tip === undefined || tip === this.#revealedTip) {
      return;
    }
    const [selected] = this.#view.selection;
    const keepsSelection =
      selected !== undefined &&
      this.#isOfModel(selected) &&
      selected.entryId !== before &&
      selected.entryId !== this.#revealedTip;
    this.#revealedTip = tip;
    void this.#reveal(tip, !keepsSelection);
  }

  /** Reveal a row after the reveals before it: VS Code expands the parents of a row first, so one of a nested row that
   * is in progress would end after a later one and take its selection. */
  #reveal(entryId: string, select: boolean): Promise<void> {
    this.#revealed = this.#revealed.then(() => this.#revealNow(entryId, select));
    return this.#revealed;
  }

  async #revealNow(entryId: string, select: boolean): Promise<void> {
    if (this.#view.visible && this.#model?.rows.get(entryId) !== undefined) {
      try {
        await this.#view.reveal(this.#element(entryId), { select, focus: false, expand: true });
      } catch {
        // The row was removed or the view was closed meanwhile.
      }
    }
  }

  /** Update the description, the message and the context keys. */
  #updateTexts(): void {
    const { shown } = this.#current;
    const model = shown.kind === "session" ? this.#model : undefined;
    if (shown.kind !== "session" && this.#model !== undefined) {
      this.#replaceModel(undefined);
    }
    this.#view.description =
      shown.kind !== "session"
        ? shown.kind === "unavailable"
          ? shown.name
          : ""
        : [
            fit(titleOf(shown.session), 60),
            model === undefined || model.filter === "default" ? "" : model.filter,
            model === undefined || model.query === "" ? "" : `“${fit(oneLine(model.query), 30)}”`,
          ]
            .filter(Boolean)
            .join(" · ");
    this.#view.message = this.#message();
    const { executeCommand } = vscode.commands;
    void executeCommand("setContext", "sessiond.session", shown.kind === "session" && sessionContext(shown.session));
    void executeCommand("setContext", "sessiond.tree.shows", this.#shows());
    void executeCommand("setContext", "sessiond.tree.filter", model?.filter ?? "default");
    void executeCommand("setContext", "sessiond.tree.query", (model?.query ?? "") !== "");
  }

  #message(): string {
    const { shown } = this.#current;
    if (shown.kind === "session" && this.#daemon.state.kind !== "attached") {
      return "sessiond is not attached. This tree may be out of date.";
    }
    if (this.#model?.state.kind === "failed") {
      return oneLine(this.#model.state.message);
    }
    return (shown.kind === "session" && shown.session.writeBlock?.message) || "";
  }

  #shows(): "none" | "trashed" | "lost" | "loading" | "nothing" | "filtered" | "entries" {
    const { shown } = this.#current;
    if (shown.kind === "unavailable") {
      return shown.trashed ? "trashed" : "lost";
    }
    if (shown.kind === "none") {
      return "none";
    }
    const model = this.#model;
    if (model === undefined || model.state.kind === "loading") {
      return "loading";
    }
    if (model.rows.list.length > 0) {
      return "entries";
    }
    return model.query === "" && model.filter === "default" ? "nothing" : "filtered";
  }
}
