// The model of a tree view of one session: the rows around the leaf, updated by the daemon's notifications.
//
// Entries appended at the leaf are requested alone, so they cost what was added. Any other change can change the order
// of the rows, so the rows around the leaf are read again. An outdated response is dropped.
import type { AppendedNote, Entry, LeafMovedNote, TreeNode, TreeParams, TreeResult } from "../protocol.ts";
import { type Row, Rows } from "./rows.ts";

/** Rows of a page of a branch that is opened. */
const BRANCH_PAGE_SIZE = 2000;

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

/** The rows to read after notifications: nothing, a chain of entries at the leaf, or all rows. */
type Unread = undefined | { firstId: string; parentId: string | null } | "all";

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
  /** The number of rows of the whole view, without those in folded branches. */
  visibleCount = 0;

  #openIds = new Set<string>();
  #requestedRows = 0; // additional rows that the user loaded
  #disposed = false;
  #load = 0; // number of the last load: the response to an older one is dropped
  #loading: Promise<void> | undefined;
  #unread: Unread;
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
    return this.rows.tip(this.leafId);
  }

  setView(filter: Filter, query: string): Promise<void> {
    this.filter = filter;
    this.query = query;
    return this.load();
  }

  /** Whether all branches are open, because the rows are search results. */
  get opensAll(): boolean {
    return this.query !== "" || this.filter === "labeledOnly";
  }

  // --- reading -----------------------------------------------------------------------------------------------

  /** Reload the rows around an entry, by default the leaf. Its branches are opened. */
  load(around: string | null = this.leafId): Promise<void> {
    this.#load += 1;
    this.#unread = undefined;
    this.#requestedRows = 0;
    const loading = this.#loadNow(this.#load, around).finally(() => {
      if (this.#loading === loading) {
        this.#loading = undefined;
        this.#scheduleCatchUp();
      }
    });
    this.#loading = loading;
    return loading;
  }

  async #loadNow(load: number, around: string | null): Promise<void> {
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
      if (!this.opensAll) {
        this.#openIds = new Set(page.openIds);
      }
      this.#setCounts(page);
      this.state = { kind: "loaded" };
    } catch (error) {
      if (this.#load !== load) {
        return;
      }
      this.state = { kind: "failed", message: (error as Error).message };
    }
    this.#notify();
  }

  /** Load the rows after the last one. */
  loadLater(): Promise<void> {
    return this.#loadMore(this.rows.more ? this.rows.last : undefined, (page) => this.rows.append(page));
  }

  /** Load the rows before the first one. */
  loadEarlier(): Promise<void> {
    return this.#loadMore(this.rows.before > 0 ? this.rows.first : undefined, (page) => this.rows.prepend(page));
  }

  async #loadMore(row: Row | undefined, add: (page: TreeResult) => number): Promise<void> {
    const load = this.#load;
    if (row === undefined) {
      return;
    }
    const page = await this.#ask(this.#params({ aroundId: row.id, limit: 4 * this.#limits.pageSize }));
    if (this.#load !== load) {
      return; // the rows changed meanwhile; the user can load more again
    }
    this.#requestedRows += add(page);
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

  /** Show the rows of a folded branch. */
  async openBranch(id: string): Promise<void> {
    while ((this.rows.get(id)?.hiddenCount ?? 0) > 0) {
      await this.#loading;
      const load = this.#load;
      this.#openIds.add(id);
      const nodes: TreeNode[] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const after: Partial<TreeParams> = cursor === undefined ? {} : { cursor };
        const page = await this.#ask(this.#params({ rootId: id, limit: BRANCH_PAGE_SIZE, ...after }));
        nodes.push(...page.nodes);
        cursor = page.nextCursor;
      }
      if (this.#load === load) {
        this.rows.open(id, nodes);
        this.visibleCount += nodes.length - 1;
        this.#requestedRows += nodes.length - 1;
        this.#notify();
        return;
      }
    }
  }

  /** Fold an open branch to its first row. */
  closeBranch(id: string): void {
    this.#openIds.delete(id);
    const size = this.rows.size;
    if (!this.rows.fold(id)) {
      void this.load(id);
    } else if (this.rows.size !== size) {
      this.visibleCount += this.rows.size - size;
      this.#notify();
    }
  }

  #params(more: Partial<TreeParams>): TreeParams {
    const { sessionId, filter, query } = this;
    const open: Partial<TreeParams> = this.opensAll ? { openAll: true } : { openIds: [...this.#openIds] };
    return { sessionId, filter, layout: "path", ...open, ...(query === "" ? {} : { query }), ...more };
  }

  #setCounts(page: TreeResult): void {
    this.entryCount = page.entryCount;
    this.visibleCount = page.visibleCount;
    if (this.#unread === undefined) {
      this.leafId = page.leafId;
    }
  }

  // --- notifications of the daemon ---------------------------------------------------------------------------

  appended(note: AppendedNote): void {
    for (const { entry } of note.items) {
      this.#entryAppended(entry);
    }
    this.leafId = note.leafId;
    this.entryCount += note.items.length;
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
    this.#unread = "all";
    this.#scheduleCatchUp();
  }

  #entryAppended(entry: Entry): void {
    const parentId = entry.parentId ?? null;
    if (entry.type === "leaf" || parentId !== this.leafId) {
      this.#unread = "all";
    } else {
      this.leafId = entry.id;
      this.#unread ??= { firstId: entry.id, parentId };
    }
    if (entry.type === "label") {
      this.#labeled(entry as Entry & { targetId?: unknown; label?: unknown });
    }
  }

  #labeled(entry: { targetId?: unknown; label?: unknown }): void {
    if (this.opensAll) {
      this.#unread = "all";
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
    if (this.#unread !== undefined && this.#timer === undefined && !this.#disposed) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#working = this.#working.then(() => this.#catchUp());
      }, this.#limits.delayMs);
    }
  }

  /** Resolves when all changes so far are read. */
  async idle(): Promise<void> {
    while (this.#timer !== undefined || this.#loading !== undefined) {
      await new Promise((done) => setTimeout(done, this.#limits.delayMs));
      await this.#loading;
      await this.#working;
    }
    await this.#working;
  }

  async #catchUp(): Promise<void> {
    const unread = this.#unread;
    if (this.#disposed || this.#loading !== undefined || unread === undefined) {
      return; // the end of a load schedules this again
    }
    // If appended rows make the list too long to render, a reload cuts it to the rows around the leaf.
    const grown = this.rows.size > 4 * this.#limits.pageSize + this.#requestedRows;
    if (unread === "all" || grown) {
      await this.load();
      return;
    }
    const parent = this.rows.get(unread.parentId);
    const rootId = parent !== undefined && this.#mayHide(parent) ? parent.id : unread.firstId;
    if (this.rows.anchorOf(rootId) === undefined) {
      await this.load();
      return;
    }
    this.#unread = undefined;
    const load = this.#load;
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
    if (part.nextCursor !== null || this.rows.anchorOf(rootId) === undefined) {
      this.refresh();
      return;
    }
    const size = this.rows.size;
    this.rows.extend(rootId, part.nodes);
    this.visibleCount += this.rows.size - size;
    this.entryCount = part.entryCount;
    this.#notify();
  }

  #notify(): void {
    if (!this.#disposed) {
      this.#onChange(this);
    }
  }
}
