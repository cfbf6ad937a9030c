// The loaded rows of a tree in the daemon's layout `path`, and their places in the view.
//
// The path to the leaf is one list at the top level. Other branches are nested below their fork, each folded to its
// first row. The rows of an open branch are nested below its first row.
import type { TreeNode, TreeResult } from "../protocol.ts";

export interface Row {
  readonly id: string;
  /** The nearest row above it, loaded or not. */
  readonly parentId: string | null;
  readonly seq: number;
  readonly type: string;
  readonly role: string | null;
  readonly timestamp: string | null;
  readonly preview: string;
  readonly label: string | null;
  readonly onPath: boolean;
  /** The number of its child rows, loaded or not. */
  readonly childCount: number;
  /** The number of branches that it is in. */
  readonly indent: number;
  readonly gutter: string;
  /** The number of rows that are folded in the branch that it begins. */
  readonly hiddenCount: number;
}

/** A row and its place in the view. `under` is null at the top level. */
export interface RenderedRow {
  readonly row: Row;
  readonly under: string | null;
  readonly children: readonly string[];
}

type Page = Pick<TreeResult, "nodes" | "precedingCount" | "nextCursor">;

function rowOf(node: TreeNode): Row {
  const { id, parentId, seq, type, role, timestamp, preview, label, onPath, childCount } = node;
  const { indent, gutter, hiddenCount } = node;
  return { id, parentId, seq, type, role, timestamp, preview, label, onPath, childCount, indent, gutter, hiddenCount };
}

/** Whether a row is the first one of a branch beside the path. */
export function beginsBranch(row: Pick<Row, "gutter">): boolean {
  return row.gutter.endsWith("+") || row.gutter.endsWith("'");
}

/** A range of the view without gaps, in the order of the daemon. */
export class Rows {
  #list: Row[];
  readonly #byId: Map<string, Row>;
  #structure: Map<string | null, RenderedRow> | undefined;
  /** The number of rows of the view before the first loaded one. */
  before: number;
  /** Whether there are rows after the last loaded one. */
  more: boolean;

  static empty(): Rows {
    return new Rows({ nodes: [], precedingCount: 0, nextCursor: null });
  }

  constructor(page: Page) {
    this.#list = page.nodes.map(rowOf);
    this.#byId = new Map(this.#list.map((row) => [row.id, row]));
    this.before = page.precedingCount;
    this.more = page.nextCursor !== null;
  }

  loaded(): readonly Row[] {
    return this.#list;
  }

  get size(): number {
    return this.#list.length;
  }

  get first(): Row | undefined {
    return this.#list[0];
  }

  get last(): Row | undefined {
    return this.#list.at(-1);
  }

  get(id: string | null | undefined): Row | undefined {
    return id === null || id === undefined ? undefined : this.#byId.get(id);
  }

  /** The row that shows the leaf: its own, or that of its nearest visible ancestor. Undefined if it is not loaded. */
  tip(leafId: string | null): Row | undefined {
    const place = this.#list.findLastIndex((row) => row.onPath);
    const last = this.#list[place];
    const isEnd = !this.more || last?.id === leafId || this.#list.slice(place + 1).some((row) => row.indent === 0);
    return isEnd ? last : undefined; // else the path may continue in rows that are not loaded
  }

  // --- places in the view ------------------------------------------------------------------------------------

  /** The ids at the top level, or of the rows nested below a row. */
  children(id: string | null): readonly string[] {
    return this.#places().get(id)?.children ?? [];
  }

  rendered(id: string): RenderedRow | undefined {
    return this.#places().get(id);
  }

  #places(): Map<string | null, RenderedRow> {
    if (this.#structure !== undefined) {
      return this.#structure;
    }
    const top: string[] = [];
    const lists = new Map<string | null, string[]>([[null, top]]);
    const made = new Map<string | null, RenderedRow>([[null, { row: undefined as never, under: null, children: top }]]);
    const starts: (string | null)[] = []; // the first rows of the branches that the row is in, if they are loaded
    for (const row of this.#list) {
      starts.length = row.indent;
      let under = starts[row.indent - 1] ?? null;
      if (beginsBranch(row)) {
        under = this.get(row.parentId)?.id ?? starts[row.indent - 2] ?? null;
        starts[row.indent - 1] = row.id;
      }
      const children: string[] = [];
      lists.set(row.id, children);
      lists.get(under)?.push(row.id);
      made.set(row.id, { row, under, children });
    }
    this.#structure = made;
    return made;
  }

  // --- changes -----------------------------------------------------------------------------------------------

  /**
   * The row below which appended entries of the path belong; null for the top of an empty view. Undefined if the rows
   * do not tell, or if the order of other rows would change. `rootId` is the first entry to read. If it has a row, it
   * is read again, because an empty turn is hidden when it is not the leaf any more.
   */
  anchorOf(rootId: string): Row | null | undefined {
    const place = this.#placeOf(rootId);
    const anchor = this.#list[place - 1];
    if (this.more || place < this.#list.length - 1) {
      return undefined;
    }
    if (anchor === undefined) {
      return this.before === 0 ? null : undefined;
    }
    const isRead = place < this.#list.length;
    const isWhole = anchor.childCount === (isRead ? 1 : 0) && (!isRead || this.last?.parentId === anchor.id);
    return anchor.onPath && isWhole ? anchor : undefined;
  }

  /** Replace the rows from that of `rootId` on, or add rows after the last one. `nodes` is the result for this root. */
  extend(rootId: string, nodes: readonly TreeNode[]): void {
    const place = this.#placeOf(rootId);
    const anchor = this.#list[place - 1];
    const added = nodes.map((node) => ({ ...rowOf(node), parentId: node.parentId ?? anchor?.id ?? null }));
    const childCount = nodes.filter((node) => node.parentId === null).length;
    const kept = this.#list.slice(0, anchor === undefined ? 0 : place - 1);
    this.#set([...kept, ...(anchor === undefined ? [] : [{ ...anchor, childCount }]), ...added]);
  }

  /** Show the rows of a folded branch: `nodes` is the result for the root `id`. */
  open(id: string, nodes: readonly TreeNode[]): void {
    const place = this.#placeOf(id);
    const row = this.#list[place];
    if (row === undefined) {
      return;
    }
    const outer = row.gutter.slice(0, -1) + (row.gutter.endsWith("+") ? "|" : " ");
    const below = nodes.slice(1).map((node) => {
      return { ...rowOf(node), indent: row.indent + node.indent, gutter: outer + node.gutter };
    });
    this.#set([...this.#list.slice(0, place), { ...row, hiddenCount: 0 }, ...below, ...this.#list.slice(place + 1)]);
  }

  /** Fold an open branch. Returns whether all of its rows were loaded; otherwise nothing changes. */
  fold(id: string): boolean {
    const place = this.#placeOf(id);
    const row = this.#list[place];
    if (row === undefined) {
      return true;
    }
    const after = this.#list.findIndex((each, index) => {
      return index > place && (each.indent < row.indent || (each.indent === row.indent && beginsBranch(each)));
    });
    if (after < 0 && this.more) {
      return false;
    }
    const end = after < 0 ? this.#list.length : after;
    const hiddenCount = this.#list.slice(place, end).reduce((sum, each) => sum + 1 + each.hiddenCount, -1);
    this.#set([...this.#list.slice(0, place), { ...row, hiddenCount }, ...this.#list.slice(end)]);
    return true;
  }

  /** Add the rows after the last one, from a page around it. Returns the number of added rows. */
  append(page: Page): number {
    const place = page.nodes.findIndex((node) => node.id === this.last?.id);
    const added = place < 0 ? [] : page.nodes.slice(place + 1).map(rowOf);
    this.more = place < 0 ? this.more : page.nextCursor !== null;
    this.#set([...this.#list, ...added]);
    return added.length;
  }

  /** Add the rows before the first one, from a page around it. Returns the number of added rows. */
  prepend(page: Page): number {
    const place = page.nodes.findIndex((node) => node.id === this.first?.id);
    const added = page.nodes.slice(0, Math.max(place, 0)).map(rowOf);
    this.before = place < 0 ? this.before : page.precedingCount;
    this.#set([...added, ...this.#list]);
    return added.length;
  }

  setLabel(id: string, label: string | null): void {
    const row = this.get(id);
    if (row !== undefined && row.label !== label) {
      this.#set(this.#list.with(this.#placeOf(id), { ...row, label }));
    }
  }

  #placeOf(id: string): number {
    const row = this.get(id);
    return row === undefined ? this.#list.length : this.#list.indexOf(row);
  }

  #set(list: Row[]): void {
    this.#list = list;
    this.#byId.clear();
    list.forEach((row) => this.#byId.set(row.id, row));
    this.#structure = undefined;
  }
}

/** The rows to refresh: `all`, or the rows whose content or children changed. */
export function difference(before: ReadonlyMap<string, RenderedRow>, after: Rows, top: readonly string[]): "all" | string[] {
  const changed: string[] = [];
  const same = sameList(top, after.children(null));
  for (const row of after.loaded()) {
    const now = after.rendered(row.id) as RenderedRow;
    const was = before.get(row.id);
    if (was === undefined) {
      continue; // a new row: the children of its parent changed
    }
    if (was.under !== now.under) {
      return "all"; // VS Code does not support that a row changes its parent
    }
    if (was.row !== now.row || !sameList(was.children, now.children)) {
      changed.push(row.id);
    }
  }
  return same ? changed : "all";
}

function sameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((id, index) => id === other[index]);
}

/** The rendered rows, for a later call of `difference`. */
export function snapshot(rows: Rows): Map<string, RenderedRow> {
  const rendered = new Map<string, RenderedRow>();
  for (const row of rows.loaded()) {
    rendered.set(row.id, rows.rendered(row.id) as RenderedRow);
  }
  return rendered;
}
