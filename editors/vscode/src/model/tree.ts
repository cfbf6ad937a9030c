// The model of a tree view of one session: the rows around the leaf, updated by the daemon's notifications.
//
// Appended entries are requested as a subtree, so the cost depends on what was added. If that is not possible (a filter
// for labels, a parent that is not loaded), all rows are read again. An outdated response is dropped.
import type {
  AppendedNote,
  Entry,
  LeafMovedNote,
  TreeNode,
  TreeParams,
  TreeResult,
} from "../protocol.ts";
import { type Row, Rows } from "./rows.ts";
import { StaleParts } from "./staleParts.ts";

/** With more appended parts, all rows are read again. */
const MAX_PARTS = 20;

export interface TreeLimits {
  /** Rows of a page: enough for most sessions, and few enough to be rendered at once. */
  pageSize: number;
  /** Milliseconds between the first of several changes and the requests for them. */
  delayMs: number;
}

const LIMITS: TreeLimits = { pageSize: 600, delayMs: 30 };

export type Filter = NonNullable<TreeParams["filter"]>;

/** All filters, in the order of the menu. */
export const FILTERS: readonly Filter[] = ["default", "noTools", "userOnly", "labeledOnly", "all"];

export type Ask = (params: TreeParams) => Promise<TreeResult>;

export type TreeState = { kind: "loading" } | { kind: "loaded" } | { kind: "failed"; message: string };

export class TreeModel {
  readonly sessionId: string;
  readonly #ask: Ask;
  readonly #onChange: (model: TreeModel) => void;
  readonly #limits: TreeLimits;
  filter: Filter;
  query: string;
  state: TreeState = { kind: "loading" };
  rows = Rows.empty();
  leafId: string | null;
  /** The number of entries in the session, visible or not. */
  entryCount = 0;
  /** The number of rows of the whole view. */
  visibleCount = 0;

  #cursor: string | null = null;
  #requestedRows = 0; // additional rows that the user loaded
  #disposed = false;
  #load = 0; // number of the last load: the response to an older one is dropped
  #loading = false;
  #moves = 0; // the path in a response from before a move is outdated
  readonly #stale = new StaleParts();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();

  /** `onChange` is called after every change. */
  constructor(
    session: { sessionId: string; leafId: string | null },
    view: { filter: Filter; query: string },
    ask: Ask,
    onChange: (model: TreeModel) => void,
    limits = LIMITS,
  ) {
    this.sessionId = session.sessionId;
    this.leafId = session.leafId;
    this.filter = view.filter;
    this.query = view.query;
    this.#ask = ask;
    this.#onChange = onChange;
    this.#limits = limits;
  }

  dispose(): void {
    this.#disposed = true;
    this.#load += 1;
    clearTimeout(this.#timer);
  }

  /** The row that shows the leaf: the leaf itself, or its nearest visible ancestor. */
  tip(): Row | undefined {
    const known = this.#nearest(this.leafId);
    return known === undefined ? this.rows.tip() : (known ?? undefined);
  }

  setView(filter: Filter, query: string): Promise<void> {
    this.filter = filter;
    this.query = query;
    return this.load();
  }

  // --- reading -----------------------------------------------------------------------------------------------

  /** Reload the rows around an entry, by default the leaf. */
  async load(around: string | null = this.leafId): Promise<void> {
    this.#load += 1;
    const load = this.#load;
    this.#stale.clear();
    this.#loading = true;
    this.#requestedRows = 0;
    if (this.rows.size === 0) {
      this.state = { kind: "loading" };
      this.#notify();
    }
    try {
      const page = await this.#ask(this.#params({ ...(around === null ? {} : { aroundId: around }), limit: this.#limits.pageSize }));
      if (this.#load !== load) {
        return;
      }
      this.rows = new Rows(page);
      this.#cursor = page.nextCursor;
      this.#setCounts(page);
      this.#placeLeaf();
      this.state = { kind: "loaded" };
    } catch (error) {
      if (this.#load !== load) {
        return;
      }
      this.state = { kind: "failed", message: (error as Error).message };
    }
    this.#loading = false;
    this.#notify();
    if (!this.#stale.isEmpty) {
      this.#scheduleCatchUp();
    }
  }

  /** Load the rows after the last one. */
  async loadLater(): Promise<void> {
    const load = this.#load;
    const last = this.rows.last;
    if (last === undefined || this.#cursor === null) {
      return;
    }
    const page = await this.#ask(this.#params({ cursor: this.#cursor, limit: 2 * this.#limits.pageSize }));
    if (this.#load !== load || this.rows.last?.id !== last.id) {
      return; // the rows changed meanwhile; the user can load more again
    }
    this.rows.append(page);
    this.#cursor = page.nextCursor;
    this.#requestedRows += page.nodes.length;
    this.#setCounts(page);
    this.#notify();
  }

  /** Load the rows before the first one. */
  async loadEarlier(): Promise<void> {
    const load = this.#load;
    const first = this.rows.first;
    if (first === undefined || this.rows.before === 0) {
      return;
    }
    const page = await this.#ask(this.#params({ aroundId: first.id, limit: 4 * this.#limits.pageSize }));
    if (this.#load !== load || this.rows.first?.id !== first.id) {
      return;
    }
    const added = this.rows.prepend(page);
    this.#requestedRows += added;
    this.#setCounts(page);
    this.#notify();
  }

  /** Load the rows around an entry if its row is not loaded. Returns the row; undefined if it is hidden or missing. */
  async loadRow(entryId: string): Promise<Row | undefined> {
    if (this.rows.get(entryId) === undefined) {
      await this.load(entryId);
    }
    return this.rows.get(entryId);
  }

  #params(more: Partial<TreeParams>): TreeParams {
    const { sessionId, filter, query } = this;
    return { sessionId, filter, ...(query === "" ? {} : { query }), ...more };
  }

  #setCounts(page: TreeResult): void {
    this.entryCount = page.entryCount;
    this.visibleCount = page.visibleCount;
    if (this.#stale.isEmpty) {
      this.leafId = page.leafId;
    }
  }

  /** Place a hidden leaf below the end of the path. */
  #placeLeaf(): void {
    this.#stale.forgetParents();
    if (this.leafId === null || this.rows.get(this.leafId) !== undefined) {
      return;
    }
    const tip = this.rows.tip();
    if (tip !== undefined || this.visibleCount === 0) {
      this.#stale.setParent(this.leafId, tip?.id ?? null);
    }
  }

  // --- notifications of the daemon ---------------------------------------------------------------------------

  appended(note: AppendedNote): void {
    const before = this.leafId;
    const tip = this.tip();
    this.leafId = note.leafId;
    this.entryCount += note.items.length;
    if (before !== note.leafId && tip !== undefined && tip.id === before && this.#mayHide(tip)) {
      this.#stale.addRoot(tip.id, tip.parentId); // an empty turn is visible only while it is the leaf
    }
    const batch = new Set(note.items.map(({ entry }) => entry.id));
    for (const { entry } of note.items) {
      this.#entryAppended(entry, batch);
    }
    this.#scheduleCatchUp();
  }

  leafMoved(note: LeafMovedNote): void {
    if (note.leafId !== this.leafId) {
      this.leafId = note.leafId; // otherwise `session/appended` has set it
      this.refresh();
    }
  }

  /** Schedule a reload of all rows. */
  refresh(): void {
    this.#stale.isAll = true;
    this.#scheduleCatchUp();
  }

  #entryAppended(entry: Entry, batch: ReadonlySet<string>): void {
    const parentId = entry.parentId ?? null;
    this.#stale.setParent(entry.id, parentId);
    if (entry.type === "leaf") {
      this.#moves += 1;
      const target = this.#nearest(this.leafId);
      if (this.leafId === null || target?.id === this.leafId) {
        this.rows.markPath(target ?? undefined);
      } else {
        this.#stale.isAll = true; // the new leaf may be visible only now
      }
      return;
    }
    if (entry.type === "label") {
      this.#labeled(entry as Entry & { targetId?: unknown; label?: unknown });
    }
    this.#stale.add(entry, batch);
  }

  #labeled(entry: { targetId?: unknown; label?: unknown }): void {
    if (this.filter === "labeledOnly" || this.query !== "") {
      this.#stale.isAll = true;
    } else if (typeof entry.targetId === "string") {
      const label = typeof entry.label === "string" && entry.label !== "" ? entry.label : null;
      this.rows.setLabel(entry.targetId, label);
    }
  }

  #mayHide(row: Row): boolean {
    return (
      (this.filter === "default" || this.filter === "noTools") &&
      row.role === "assistant" &&
      (row.preview === "" || row.preview.startsWith("["))
    );
  }

  #scheduleCatchUp(): void {
    if (this.#timer === undefined && !this.#disposed) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#working = this.#working.then(() => this.#catchUp());
      }, this.#limits.delayMs);
    }
  }

  /** Resolves when all changes so far are read. */
  async idle(): Promise<void> {
    while (this.#timer !== undefined || this.#loading) {
      await new Promise((done) => setTimeout(done, this.#limits.delayMs));
      await this.#working;
    }
    await this.#working;
  }

  async #catchUp(): Promise<void> {
    if (this.#disposed || this.#loading) {
      return; // the load calls this again at its end
    }
    // If appended rows make the list too long to render, a reload cuts it to the rows around the leaf.
    const grown = this.rows.size > 4 * this.#limits.pageSize + this.#requestedRows;
    if (this.#stale.isAll || this.#stale.count > MAX_PARTS || grown) {
      await this.load();
      return;
    }
    const parts = this.#stale.take();
    const load = this.#load;
    const moves = this.#moves;
    for (const [rootId, parentId] of parts) {
      const anchor = this.#anchor(rootId, parentId);
      if (anchor === undefined) {
        await this.load();
        return;
      }
      let part: TreeResult;
      try {
        part = await this.#ask(this.#params({ rootId, limit: this.#limits.pageSize }));
      } catch {
        // The session was deleted or the connection was lost. After the next attach, all rows are read again.
        this.refresh();
        return;
      }
      if (this.#load !== load) {
        return;
      }
      if (part.nextCursor !== null || moves !== this.#moves) {
        this.refresh();
        return;
      }
      this.#graft(rootId, part, anchor);
    }
    const tip = this.#nearest(this.leafId);
    if (tip !== undefined) {
      this.rows.markPath(tip ?? undefined);
    }
    this.#notify();
  }

  #graft(rootId: string, part: TreeResult, anchor: string | null): void {
    const had = this.rows.get(rootId) !== undefined;
    const nodes: TreeNode[] = part.nodes;
    if (had || nodes.length > 0) {
      const size = this.rows.size;
      this.rows.graft(rootId, nodes, anchor);
      this.visibleCount += this.rows.size - size;
    }
    this.entryCount = part.entryCount;
  }

  /** The row below which a part belongs; null for none, undefined if the loaded rows do not tell. */
  #anchor(rootId: string, parentId: string | null): string | null | undefined {
    const known = this.rows.get(rootId);
    if (known !== undefined) {
      return this.rows.isCompleteBelow(rootId) ? known.parentId : undefined;
    }
    if (parentId === null) {
      return this.rows.more ? undefined : null;
    }
    if (this.rows.get(parentId) !== undefined) {
      return this.rows.isCompleteBelow(parentId) ? parentId : undefined;
    }
    if (this.#stale.parentOf(parentId) === undefined) {
      return undefined;
    }
    // If that row has other children, the place among them is unknown: the hidden entry may have later siblings.
    const above = this.#nearest(parentId);
    if (above === null) {
      return this.visibleCount === 0 ? null : undefined;
    }
    return above?.childCount === 0 && this.rows.isCompleteBelow(above.id) ? above.id : undefined;
  }

  /** The row of an entry or of its nearest visible ancestor; null without one, undefined if it is unknown. */
  #nearest(id: string | null): Row | null | undefined {
    const seen = new Set<string>();
    let at: string | null | undefined = id;
    while (typeof at === "string" && !seen.has(at)) {
      const row = this.rows.get(at);
      if (row !== undefined) {
        return row;
      }
      seen.add(at);
      at = this.#stale.parentOf(at);
    }
    return at === null ? null : undefined;
  }

  #notify(): void {
    if (!this.#disposed) {
      this.#onChange(this);
    }
  }
}
