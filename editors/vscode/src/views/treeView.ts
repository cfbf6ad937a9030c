// The Tree: the entries of the session that is shown, live. What is where is the model's; this draws it.
import * as vscode from "vscode";
import type { Current } from "../current.ts";
import type { Daemon } from "../daemon/daemon.ts";
import { difference, type RenderedRow, snapshot } from "../model/rows.ts";
import { count, fit, oneLine } from "../model/text.ts";
import { type Filter, FILTERS, TreeModel } from "../model/tree.ts";
import { rowWords, titleOf } from "../model/words.ts";
import { type EntryElement, Interned, type StretchElement } from "./elements.ts";
import { themeIcon } from "./themeIcon.ts";

type Element = EntryElement | StretchElement;

/** Rows of a branch off the path that is shown unfolded at first. */
const SHORT = 30;
/** Characters of an entry in a tooltip. */
const TOOLTIP = 2000;
const MINUTE = 60_000;

const ID = "sessiond.tree";

const EARLIER: StretchElement = { kind: "earlier" };
const LATER: StretchElement = { kind: "later" };

export class TreeView implements vscode.TreeDataProvider<Element>, vscode.Disposable {
  readonly #daemon: Daemon;
  readonly #current: Current;
  readonly #changed = new vscode.EventEmitter<Element[] | undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<Element>;
  readonly #elements = new Interned<EntryElement>();
  readonly #subscriptions: vscode.Disposable[];
  #model: TreeModel | undefined;
  #rendered = new Map<string, RenderedRow>();
  #top: readonly string[] = [];
  #ends = "";
  #tip: string | undefined;
  /** The tip that was brought into sight last. */
  #revealed: string | undefined;

  constructor(daemon: Daemon, current: Current) {
    this.#daemon = daemon;
    this.#current = current;
    this.#view = vscode.window.createTreeView(ID, { treeDataProvider: this, showCollapseAll: true });
    const clock = setInterval(() => this.#view.visible && this.#changed.fire(undefined), MINUTE);
    const about = (of: { sessionId: string }): TreeModel | undefined =>
      this.#model?.sessionId === of.sessionId ? this.#model : undefined;
    this.#subscriptions = [
      this.#view,
      this.#changed,
      new vscode.Disposable(() => clearInterval(clock)),
      current.onDidOpen((session) => this.#opened(session)),
      current.onDidChange(() => this.#named()),
      daemon.onDidChangeState(() => this.#named()),
      daemon.onNotification("session/appended", (note) => about(note)?.appended(note)),
      daemon.onNotification("session/leafMoved", (note) => about(note)?.leafMoved(note)),
      this.#view.onDidChangeVisibility(({ visible }) => visible && this.#follow()),
    ];
    this.#named();
  }

  dispose(): void {
    this.#model?.dispose();
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  get model(): TreeModel | undefined {
    return this.#model;
  }

  /** The entry that is selected, else where the leaf is. */
  get chosen(): EntryElement | undefined {
    const [selected] = this.#view.selection;
    if (selected?.kind === "entry" && selected.sessionId === this.#model?.sessionId) {
      return selected;
    }
    const tip = this.#model?.tip();
    return tip && this.#element(tip.id);
  }

  // --- user actions ------------------------------------------------------------------------------------------

  /** Bring the view itself before the person. */
  async focus(): Promise<void> {
    await vscode.commands.executeCommand(`${ID}.focus`);
  }

  async show(filter: Filter, query: string): Promise<void> {
    const selected = this.#view.selection[0];
    await this.#model?.show(filter, query);
    this.#named();
    if (selected?.kind === "entry" && this.#model?.rows.get(selected.entryId) !== undefined) {
      await this.#reveal(selected.entryId, true);
    }
  }

  /** Bring an entry into sight, and select it. Answers whether it could be had. */
  async reach(entryId: string): Promise<boolean> {
    const model = this.#model;
    let row = await model?.reach(entryId);
    if (model !== undefined && row === undefined && (model.filter !== "all" || model.query !== "")) {
      model.filter = "all"; // it is there, but hidden
      model.query = "";
      row = await model.reach(entryId);
    }
    if (row === undefined || model !== this.#model) {
      return false;
    }
    this.#named();
    await this.#reveal(entryId, true);
    return true;
  }

  // --- TreeDataProvider --------------------------------------------------------------------------------------

  getChildren(element?: Element): Element[] {
    const rows = this.#model?.rows;
    if (rows === undefined || (element !== undefined && !this.#isHere(element))) {
      return [];
    }
    const parent = element?.kind === "entry" ? element.entryId : null;
    const children: Element[] = rows.children(parent).map((id) => this.#element(id));
    if (element === undefined) {
      if (rows.before > 0) {
        children.unshift(EARLIER);
      }
      if (rows.more) {
        children.push(LATER);
      }
    }
    return children;
  }

  getParent(element: Element): Element | undefined {
    const under = this.#isHere(element) ? this.#model?.rows.rendered(element.entryId)?.under : null;
    return under === null || under === undefined ? undefined : this.#element(under);
  }

  getTreeItem(element: Element): vscode.TreeItem {
    return element.kind === "entry" ? this.#entryItem(element) : this.#stretchItem(element);
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
        item.tooltip = new vscode.MarkdownString(fit(text, TOOLTIP));
      } catch {
        item.tooltip = oneLine(typeof item.label === "string" ? item.label : item.label?.label);
      }
    }
    return item;
  }

  #entryItem(element: EntryElement): vscode.TreeItem {
    const rendered = this.#isHere(element) ? this.#model?.rows.rendered(element.entryId) : undefined;
    if (rendered === undefined) {
      return new vscode.TreeItem(""); // removed during the request; the next refresh drops it
    }
    const words = rowWords(rendered.row, this.#tip === rendered.row.id, Date.now());
    const { None, Expanded, Collapsed } = vscode.TreeItemCollapsibleState;
    const unfolded = rendered.row.onPath || rendered.children.length <= SHORT;
    const item = new vscode.TreeItem(
      { label: words.label, highlights: words.labeled > 0 ? [[0, words.labeled]] : [] },
      rendered.children.length === 0 ? None : unfolded ? Expanded : Collapsed,
    );
    item.id = `${element.sessionId}/${element.entryId}`;
    item.description = words.description;
    item.iconPath = themeIcon(words.icon);
    item.contextValue = words.context;
    item.accessibilityInformation = { label: words.accessibleText };
    item.command = { command: "sessiond.revealEntry", title: "Go to Line", arguments: [{ ...element, staysHere: true }] };
    return item;
  }

  #stretchItem({ kind }: StretchElement): vscode.TreeItem {
    const { rows, shown } = this.#model as TreeModel;
    const amount = kind === "earlier" ? rows.before : Math.max(0, shown - rows.before - rows.stretch);
    const item = new vscode.TreeItem(`${count(amount, `${kind} entry`, `${kind} entries`)} …`);
    item.id = kind;
    item.description = "load more";
    item.iconPath = new vscode.ThemeIcon(kind === "earlier" ? "fold-up" : "fold-down");
    item.contextValue = kind;
    item.command = { command: "sessiond.tree.more", title: "Load More", arguments: [{ kind }] };
    return item;
  }

  /** Forks share ids of entries: an entry of the session that was shown before is none of this one. */
  #isHere(element: Element): element is EntryElement {
    return element.kind === "entry" && element.sessionId === this.#model?.sessionId;
  }

  #element(entryId: string): EntryElement {
    const sessionId = (this.#model as TreeModel).sessionId;
    return this.#elements.get(entryId, () => ({ kind: "entry", sessionId, entryId }));
  }

  // --- what changes ------------------------------------------------------------------------------------------

  #opened(session: { sessionId: string; leafId: string | null }): void {
    if (this.#model?.sessionId === session.sessionId) {
      this.#model.leafId = session.leafId;
      this.#model.refresh(); // what was missed is in what is read again
      return;
    }
    const chosen = vscode.workspace.getConfiguration("sessiond").get<Filter>("tree.filter", "default");
    this.#model?.dispose();
    this.#elements.clear();
    this.#revealed = undefined;
    this.#model = new TreeModel(
      session,
      { filter: FILTERS.includes(chosen) ? chosen : "default", query: "" },
      (params) => this.#daemon.request("session/tree", params),
      (model) => this.#modelChanged(model),
    );
    this.#rendered = new Map();
    this.#changed.fire(undefined);
    void this.#model.load();
  }

  #modelChanged(model: TreeModel): void {
    if (model !== this.#model) {
      return;
    }
    const before = this.#tip;
    this.#tip = model.tip()?.id;
    const changed = difference(this.#rendered, model.rows, this.#top);
    const ends = `${model.rows.before} ${model.rows.more ? model.shown : "whole"}`;
    this.#rendered = snapshot(model.rows);
    this.#top = model.rows.children(null);
    if (changed === "all" || ends !== this.#ends) {
      this.#changed.fire(undefined);
    } else {
      const tips = before === this.#tip ? [] : [before, this.#tip];
      const ids = new Set([...changed, ...tips.filter((id) => model.rows.get(id) !== undefined)] as string[]);
      if (ids.size > 0) {
        this.#changed.fire([...ids].map((id) => this.#element(id)));
      }
    }
    this.#ends = ends;
    this.#named();
    this.#follow(before);
  }

  /** Follow the leaf, unless following is off. The selection moves along if it was on the leaf. */
  #follow(before?: string): void {
    const tip = this.#tip;
    const follows = vscode.workspace.getConfiguration("sessiond").get("tree.follow", true);
    if (tip === undefined || tip === this.#revealed || !this.#view.visible || !follows) {
      return;
    }
    const [selected] = this.#view.selection;
    const stays =
      selected !== undefined &&
      this.#isHere(selected) &&
      selected.entryId !== before &&
      selected.entryId !== this.#revealed;
    this.#revealed = tip;
    void this.#reveal(tip, !stays);
  }

  async #reveal(entryId: string, select: boolean): Promise<void> {
    if (this.#view.visible && this.#model?.rows.get(entryId) !== undefined) {
      try {
        await this.#view.reveal(this.#element(entryId), { select, focus: false, expand: true });
      } catch {
        // It went, or the view was closed, while VS Code looked for it.
      }
    }
  }

  /** Title, message and the text that replaces an empty tree. */
  #named(): void {
    const { shown } = this.#current;
    const model = shown.kind === "session" ? this.#model : undefined;
    if (shown.kind !== "session" && this.#model !== undefined) {
      this.#model.dispose();
      this.#model = undefined;
      this.#elements.clear();
      this.#rendered = new Map();
      this.#changed.fire(undefined);
    }
    this.#view.description =
      shown.kind !== "session"
        ? shown.kind === "gone"
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
    void executeCommand("setContext", "sessiond.session", shown.kind === "session");
    void executeCommand("setContext", "sessiond.tree.shows", this.#shows());
    void executeCommand("setContext", "sessiond.tree.filter", model?.filter ?? "default");
    void executeCommand("setContext", "sessiond.tree.query", (model?.query ?? "") !== "");
  }

  #message(): string {
    const { shown } = this.#current;
    if (shown.kind === "session" && this.#daemon.state.kind !== "attached") {
      return "sessiond is away: this is how it was.";
    }
    if (this.#model?.state.kind === "failed") {
      return oneLine(this.#model.state.message);
    }
    return (shown.kind === "session" && shown.session.writeBlock?.message) || "";
  }

  #shows(): "none" | "trashed" | "lost" | "loading" | "nothing" | "filtered" | "entries" {
    const { shown } = this.#current;
    if (shown.kind === "gone") {
      return shown.trashed ? "trashed" : "lost";
    }
    if (shown.kind === "none") {
      return "none";
    }
    const model = this.#model;
    if (model === undefined || model.state.kind === "loading") {
      return "loading";
    }
    if (model.rows.size > 0) {
      return "entries";
    }
    return model.query === "" && model.filter === "default" ? "nothing" : "filtered";
  }
}
