// The model of a tree view of one session: it watches the rows around the leaf, or around another entry.
//
// The daemon sends the rows, and then what changes. For other rows (after a change of the filter, around an entry that
// is looked for, for a branch that is opened or folded, for more rows), another watch begins. The former rows stay
// until all of its rows are there.
import { daemonError } from "../daemon/errors.ts";
import type {
  Filter,
  TreeChangedNote,
  TreeLapsedNote,
  TreeNode,
  UnwatchParams,
  WatchTreeParams,
  WatchTreeResult,
} from "../protocol.ts";
import { beginsBranch, Rows } from "./rows.ts";

export type { Filter };

/** All filters, in the order of the menu. */
export const FILTERS: readonly Filter[] = ["default", "noTools", "userOnly", "labeledOnly", "all"];

/** Rows of a watch: enough for most sessions, and few enough to be rendered at once. */
const PAGE_SIZE = 600;
/** The limit of the daemon. */
const MAX_ROWS = 10_000;

export interface TreeRequests {
  watch(params: WatchTreeParams): Promise<WatchTreeResult>;
  unwatch(params: UnwatchParams): Promise<unknown>;
}

export type TreeState = { kind: "loading" } | { kind: "loaded" } | { kind: "failed"; message: string };

/** The rows that a watch is to show: at most `limit` around an entry, or around the leaf. */
interface Range {
  aroundId: string | null;
  limit: number;
}

export class TreeModel {
  readonly sessionId: string;
  readonly #requests: TreeRequests;
  readonly #onChange: (model: TreeModel) => void;
  readonly #pageSize: number;
  filter: Filter;
  query: string;
  state: TreeState = { kind: "loading" };
  rows = Rows.none;
  leafId: string | null;

  readonly #openIds = new Set<string>();
  /** The range that is not shown yet. */
  #range: Range | undefined;
  /** Called when the range is shown, or if that fails. */
  #waiting: (() => void)[] = [];
  /** Whether a watch is to begin. */
  #isOutdated = false;
  #isAsking = false;
  #watchId: string | undefined;
  /** The rows of the watch. */
  #received = Rows.none;
  /** The notifications that arrived before the id of the watch was known. */
  #early: (TreeChangedNote | TreeLapsedNote)[] = [];
  #disposed = false;

  /** `onChange` is called after every change. */
  constructor(
    session: { sessionId: string; leafId: string | null },
    view: { filter: Filter; query: string },
    requests: TreeRequests,
    onChange: (model: TreeModel) => void,
    pageSize = PAGE_SIZE,
  ) {
    this.sessionId = session.sessionId;
    this.leafId = session.leafId;
    this.filter = view.filter;
    this.query = view.query;
    this.#requests = requests;
    this.#onChange = onChange;
    this.#pageSize = pageSize;
  }

  dispose(): void {
    this.#disposed = true;
    this.#isOutdated = false;
    this.#unwatch();
    this.#settle();
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

  /** Show the rows around an entry, by default the leaf. Its branches are opened. */
  load(aroundId: string | null = null): Promise<void> {
    return this.#show({ aroundId, limit: this.#pageSize });
  }

  /**
   * Watch the rows that are loaded, or that are to be, again, for example on another connection; those up to the leaf
   * if its row is loaded.
   */
  refresh(): Promise<void> {
    const limit = Math.max(this.rows.list.length, this.#pageSize);
    const isAtLeaf = this.#range === undefined && this.rows.tip !== undefined;
    return isAtLeaf ? this.#show({ aroundId: null, limit }) : this.#showAgain();
  }

  /** Load two pages of rows after the last one, if as many are loaded. The first row stays. */
  async loadLater(): Promise<void> {
    const { list, later } = this.rows;
    if (later > 0) {
      await this.#show(this.#loadedRange(list.length + 2 * this.#pageSize, list.at(-1)?.id));
    }
  }

  /** Load as many rows before the first one as are loaded, and at least two pages. */
  async loadEarlier(): Promise<void> {
    const [first] = this.rows.list;
    if (first !== undefined && this.rows.before > 0) {
      await this.#show({ aroundId: first.id, limit: 2 * Math.max(this.rows.list.length, 2 * this.#pageSize) });
    }
  }

  /** Load the rows around an entry if its row is not loaded. Returns the row; undefined if it is hidden or missing. */
  async loadRow(entryId: string): Promise<TreeNode | undefined> {
    if (this.rows.get(entryId) === undefined) {
      await this.load(entryId);
    }
    return this.rows.get(entryId);
  }

  /** Show the rows of a folded branch. */
  async openBranch(id: string): Promise<void> {
    const isFolded = (): boolean => (this.rows.get(id)?.hiddenCount ?? 0) > 0;
    while (isFolded() && this.#range !== undefined) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (isFolded()) {
      this.#openIds.add(id);
      await this.#showAgain(id);
    }
  }

  /** Fold an open branch to its first row. */
  closeBranch(id: string): void {
    if (this.#openIds.delete(id)) {
      void this.#showAgain(id);
    }
  }

  // --- the watch ---------------------------------------------------------------------------------------------

  /** Show the loaded rows again, with the branches that are open now; of too many rows, those around `mainId`. */
  #showAgain(mainId?: string): Promise<void> {
    return this.#show(this.#range ?? this.#loadedRange(this.#pageSize, mainId));
  }

  /** The range of at least so many rows from the first loaded one on; of too many, those around `mainId`. */
  #loadedRange(least: number, mainId?: string): Range {
    const range = this.rows.range((id) => this.opensAll || this.#openIds.has(id), least);
    return range.limit > MAX_ROWS && mainId !== undefined ? { ...range, aroundId: mainId } : range;
  }

  #show(range: Range): Promise<void> {
    if (this.#disposed) {
      return Promise.resolve();
    }
    this.#range = range;
    this.#isOutdated = true;
    if (this.rows.list.length === 0) {
      this.state = { kind: "loading" };
      this.#onChange(this);
    }
    const shown = new Promise<void>((resolve) => this.#waiting.push(resolve));
    void this.#watch();
    return shown;
  }

  /** Begin a watch of the range. A range that is wanted during the request is the next one. */
  async #watch(): Promise<void> {
    while (this.#isOutdated && !this.#isAsking) {
      this.#isOutdated = false;
      this.#unwatch();
      this.#isAsking = true;
      const range = this.#range as Range;
      try {
        this.#watchId = (await this.#requests.watch(this.#params(range))).watchId;
      } catch (thrown) {
        const { kind, message } = daemonError(thrown);
        if (!this.#isOutdated && kind === "entryNotFound" && range.aroundId !== null) {
          void this.#show({ ...range, aroundId: null });
        } else if (!this.#isOutdated) {
          this.#failed(message);
        }
      }
      this.#isAsking = false;
      if (this.#isOutdated || this.#disposed) {
        this.#unwatch();
      }
      this.#early.splice(0).forEach((note) => this.received(note));
    }
  }

  #params({ aroundId, limit }: Range): WatchTreeParams {
    const { sessionId, filter, query } = this;
    const open = this.opensAll ? { openAll: true } : { openIds: [...this.#openIds] };
    return { sessionId, filter, query, ...open, aroundId, limit: Math.min(limit, MAX_ROWS) };
  }

  #unwatch(): void {
    const watchId = this.#watchId;
    this.#watchId = undefined;
    this.#received = Rows.none;
    if (watchId !== undefined) {
      this.#requests.unwatch({ watchId }).catch(() => undefined); // it ended with the connection
    }
  }

  /** Handle `session/treeChanged` or `session/treeLapsed`. */
  received(note: TreeChangedNote | TreeLapsedNote): void {
    if (this.#isAsking) {
      this.#early.push(note);
    } else if (note.watchId !== this.#watchId) {
      return;
    } else if ("changes" in note) {
      this.leafId = note.leafId;
      this.#received = this.#received.with(note);
      if (!note.more) {
        this.#shown();
      }
    } else {
      this.#watchId = undefined;
      if (note.reason === "unreadable") {
        this.#failed(note.message);
      } else if (note.reason === "outOfSight" && this.rows.tip !== undefined) {
        void this.load(); // not all of them, because there may be too many
      } else if (note.reason !== "deleted") { // `session/deleted` says that
        void this.refresh();
      }
    }
  }

  #shown(): void {
    this.rows = this.#received;
    for (const row of this.opensAll ? [] : this.rows.list) {
      if (beginsBranch(row) && row.childCount > 0 && row.hiddenCount === 0) {
        this.#openIds.add(row.id);
      }
    }
    this.state = { kind: "loaded" };
    this.#settle();
    this.#onChange(this);
  }

  #failed(message: string): void {
    this.state = { kind: "failed", message };
    this.#settle();
    this.#onChange(this);
  }

  /** The range is shown, or that has failed. `onChange` is called after that, because it may want another one. */
  #settle(): void {
    this.#range = undefined;
    this.#waiting.splice(0).forEach((resolve) => resolve());
  }
}
