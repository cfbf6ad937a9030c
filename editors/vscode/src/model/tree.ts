// The model of a tree view of one session: the rows around the leaf, updated by the daemon's notifications.
//
// What is appended is asked for by its own first entry, so it costs what was added. What cannot be told apart so
// (a filter that looks at labels, a parent that is not here) is read again. An answer that came too late is dropped.
import type {
  AppendedNote,
  Entry,
  LeafMovedNote,
  TreeNode,
  TreeParams,
  TreeResult,
} from "../protocol.ts";
import { type Row, Rows } from "./rows.ts";

/** Appended parts that are asked for one by one. */
const MOST_PARTS = 20;

export interface Measures {
  /** Rows of a page: enough for most sessions, little enough to be drawn at once. */
  page: number;
  /** Milliseconds in which changes are gathered. */
  gathering: number;
}

const MEASURES: Measures = { page: 600, gathering: 30 };

export type Filter = NonNullable<TreeParams["filter"]>;

/** From what hides little to what hides much, and all. */
export const FILTERS: readonly Filter[] = ["default", "noTools", "userOnly", "labeledOnly", "all"];

export type Ask = (params: TreeParams) => Promise<TreeResult>;

export type TreeState = { kind: "loading" } | { kind: "loaded" } | { kind: "failed"; message: string };

export class TreeModel {
  readonly sessionId: string;
  readonly #ask: Ask;
  readonly #onChange: (model: TreeModel) => void;
  readonly #measures: Measures;
  filter: Filter;
  query: string;
  state: TreeState = { kind: "loading" };
  rows = Rows.empty();
  leafId: string | null;
  /** Entries in the session, shown or not. */
  total = 0;
  /** Rows of the whole view. */
  shown = 0;

  #cursor: string | null = null;
  #requestedRows = 0; // rows that the user loaded in addition
  #disposed = false;
  #load = 0; // number of the last load: an answer to an older one is dropped
  #loading = false;
  #moves = 0; // the path in a response from before a move is outdated
  #stale = new Map<string, string | null>(); // first entries of parts that came -> their parents
  #below = new Set<string>(); // those, and what came below them
  #parents = new Map<string, string | null>(); // entries that need not be shown -> what they hang on
  #allStale = false;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();

  /** `onChange` is called after every change. */
  constructor(
    session: { sessionId: string; leafId: string | null },
    view: { filter: Filter; query: string },
    ask: Ask,
    onChange: (model: TreeModel) => void,
    measures = MEASURES,
  ) {
    this.sessionId = session.sessionId;
    this.leafId = session.leafId;
    this.filter = view.filter;
    this.query = view.query;
    this.#ask = ask;
    this.#onChange = onChange;
    this.#measures = measures;
  }

  dispose(): void {
    this.#disposed = true;
    this.#load += 1;
    clearTimeout(this.#timer);
  }

  /** The row where the leaf is shown: itself, or the nearest above it that the filter lets through. */
  tip(): Row | undefined {
    const known = this.#nearest(this.leafId);
    return known === undefined ? this.rows.tip() : (known ?? undefined);
  }

  show(filter: Filter, query: string): Promise<void> {
    this.filter = filter;
    this.query = query;
    return this.load();
  }

  // --- reading -----------------------------------------------------------------------------------------------

  /** Reload the rows around an entry, by default the leaf. */
  async load(around: string | null = this.leafId): Promise<void> {
    this.#load += 1;
    const load = this.#load;
    this.#forget();
    this.#loading = true;
    this.#requestedRows = 0;
    if (this.rows.size === 0) {
      this.state = { kind: "loading" };
      this.#notify();
    }
    try {
      const page = await this.#ask(this.#question({ ...(around === null ? {} : { aroundId: around }), limit: this.#measures.page }));
      if (this.#load !== load) {
        return;
      }
      this.rows = new Rows(page);
      this.#cursor = page.nextCursor;
      this.#take(page);
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
    if (this.#allStale || this.#stale.size > 0) {
      this.#soon();
    }
  }

  /** Read on after the last row. */
  async later(): Promise<void> {
    const load = this.#load;
    const last = this.rows.last;
    if (last === undefined || this.#cursor === null) {
      return;
    }
    const page = await this.#ask(this.#question({ cursor: this.#cursor, limit: 2 * this.#measures.page }));
    if (this.#load !== load || this.rows.last?.id !== last.id) {
      return; // the rows changed meanwhile; the user can load more again
    }
    this.rows.append(page);
    this.#cursor = page.nextCursor;
    this.#requestedRows += page.nodes.length;
    this.#take(page);
    this.#notify();
  }

  /** Read what comes before the first row. */
  async earlier(): Promise<void> {
    const load = this.#load;
    const first = this.rows.first;
    if (first === undefined || this.rows.before === 0) {
      return;
    }
    const page = await this.#ask(this.#question({ aroundId: first.id, limit: 4 * this.#measures.page }));
    if (this.#load !== load || this.rows.first?.id !== first.id) {
      return;
    }
    const added = this.rows.prepend(page);
    this.#requestedRows += added;
    this.#take(page);
    this.#notify();
  }

  /** See that an entry is here, or what is shown nearest above it. Its row, unless it cannot be had. */
  async reach(entryId: string): Promise<Row | undefined> {
    if (this.rows.get(entryId) === undefined) {
      await this.load(entryId);
    }
    return this.rows.get(entryId);
  }

  #question(more: Partial<TreeParams>): TreeParams {
    const { sessionId, filter, query } = this;
    return { sessionId, filter, ...(query === "" ? {} : { query }), ...more };
  }

  #take(page: TreeResult): void {
    this.total = page.entryCount;
    this.shown = page.visibleCount;
    if (!this.#changedMeanwhile()) {
      this.leafId = page.leafId;
    }
  }

  /** A leaf that is hidden is where the path ends. */
  #placeLeaf(): void {
    this.#parents.clear();
    if (this.leafId === null || this.rows.get(this.leafId) !== undefined) {
      return;
    }
    const tip = this.rows.tip();
    if (tip !== undefined || this.shown === 0) {
      this.#parents.set(this.leafId, tip?.id ?? null);
    }
  }

  #changedMeanwhile(): boolean {
    return this.#allStale || this.#stale.size > 0;
  }

  // --- notifications of the daemon ---------------------------------------------------------------------------

  appended(note: AppendedNote): void {
    const before = this.leafId;
    const tip = this.tip();
    this.leafId = note.leafId;
    this.total += note.items.length;
    if (before !== note.leafId && tip !== undefined && tip.id === before && this.#mayHide(tip)) {
      this.#await(tip.id, tip.parentId); // a turn without words is shown only while it is the leaf
    }
    const here = new Set(note.items.map(({ entry }) => entry.id));
    for (const { entry } of note.items) {
      this.#came(entry, here);
    }
    this.#soon();
  }

  leafMoved(note: LeafMovedNote): void {
    if (note.leafId !== this.leafId) {
      this.leafId = note.leafId; // otherwise `session/appended` has set it
      this.refresh();
    }
  }

  /** Schedule a reload of all rows. */
  refresh(): void {
    this.#allStale = true;
    this.#soon();
  }

  #came(entry: Entry, here: ReadonlySet<string>): void {
    const parentId = entry.parentId ?? null;
    this.#parents.set(entry.id, parentId);
    if (entry.type === "leaf") {
      this.#moves += 1;
      const target = this.#nearest(this.leafId);
      if (this.leafId === null || target?.id === this.leafId) {
        this.rows.markPath(target ?? undefined);
      } else {
        this.#allStale = true; // where the leaf is may be shown only now
      }
      return;
    }
    if (entry.type === "label") {
      this.#labeled(entry as Entry & { targetId?: unknown; label?: unknown });
    }
    if (parentId !== null && (here.has(parentId) || this.#below.has(parentId))) {
      this.#below.add(entry.id);
    } else {
      this.#await(entry.id, parentId);
    }
  }

  #await(rootId: string, parentId: string | null): void {
    this.#below.add(rootId);
    this.#parents.set(rootId, parentId);
    this.#stale.set(rootId, parentId);
  }

  #labeled(entry: { targetId?: unknown; label?: unknown }): void {
    if (this.filter === "labeledOnly" || this.query !== "") {
      this.#allStale = true;
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

  #soon(): void {
    if (this.#timer === undefined && !this.#disposed) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#working = this.#working.then(() => this.#catchUp());
      }, this.#measures.gathering);
    }
  }

  /** When nothing waits to be read any more. */
  async idle(): Promise<void> {
    while (this.#timer !== undefined || this.#loading) {
      await new Promise((done) => setTimeout(done, this.#measures.gathering));
      await this.#working;
    }
    await this.#working;
  }

  #forget(): void {
    this.#allStale = false;
    this.#stale.clear();
    this.#below.clear();
  }

  async #catchUp(): Promise<void> {
    if (this.#disposed || this.#loading) {
      return; // the end of the load comes back here
    }
    // When live rows make the list too long to render, a reload cuts it to the rows around the leaf.
    const grown = this.rows.size > 4 * this.#measures.page + this.#requestedRows;
    if (this.#allStale || this.#stale.size > MOST_PARTS || grown) {
      await this.load();
      return;
    }
    const parts = [...this.#stale];
    this.#forget();
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
        part = await this.#ask(this.#question({ rootId, limit: this.#measures.page }));
      } catch {
        // The session or the connection is gone. After the next attach, all rows are reloaded.
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
      this.shown += this.rows.size - size;
    }
    this.total = part.entryCount;
  }

  /** The row that a part hangs on, null for none, undefined when that cannot be known from here. */
  #anchor(rootId: string, parentId: string | null): string | null | undefined {
    const known = this.rows.get(rootId);
    if (known !== undefined) {
      return this.rows.wholeBelow(rootId) ? known.parentId : undefined;
    }
    if (parentId === null) {
      return this.rows.more ? undefined : null;
    }
    if (this.rows.get(parentId) !== undefined) {
      return this.rows.wholeBelow(parentId) ? parentId : undefined;
    }
    if (!this.#parents.has(parentId)) {
      return undefined;
    }
    // Below a row with others its place among them is known only when the hidden entry has no later sibling.
    const above = this.#nearest(parentId);
    if (above === null) {
      return this.shown === 0 ? null : undefined;
    }
    return above?.childCount === 0 && this.rows.wholeBelow(above.id) ? above.id : undefined;
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
      at = this.#parents.get(at);
    }
    return at === null ? null : undefined;
  }

  #notify(): void {
    if (!this.#disposed) {
      this.#onChange(this);
    }
  }
}
