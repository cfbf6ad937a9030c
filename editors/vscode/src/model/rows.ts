// The loaded rows of a tree in preorder, and their places in the view.
//
// Chains are flat: a row is nested only at forks. Each child of a fork is nested below it, and the chain that follows a
// child is nested below that child. So a conversation of any length is one list, and a branch can be folded.
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
}

/** A row and its place in the view. `under` is null at the top level. */
export interface RenderedRow {
  readonly row: Row;
  readonly under: string | null;
  readonly children: readonly string[];
}

function rowOf(node: TreeNode): Row {
  const { id, parentId, seq, type, role, timestamp, preview, label, onPath, childCount } = node;
  return { id, parentId, seq, type, role, timestamp, preview, label, onPath, childCount };
}

/** A range of the view in preorder, without gaps. */
export class Rows {
  readonly #list: Row[];
  readonly #above: Row[];
  readonly #byId = new Map<string, Row>();
  #rootsFork: boolean;
  #rendered: Map<string | null, RenderedRow | readonly string[]> | undefined;
  /** The number of rows of the view before the first loaded one. */
  before: number;
  /** Whether there are rows after the last loaded one. */
  more: boolean;

  static empty(): Rows {
    return new Rows({ nodes: [], above: [], bars: [], precedingCount: 0, nextCursor: null });
  }

  constructor(page: Pick<TreeResult, "nodes" | "above" | "bars" | "precedingCount" | "nextCursor">) {
    this.#list = page.nodes.map(rowOf);
    this.#above = page.above.map(rowOf);
    this.before = page.precedingCount;
    this.more = page.nextCursor !== null;
    const first = page.nodes[0];
    const forksAbove = this.#above.filter((row) => row.childCount > 1).length;
    this.#rootsFork =
      this.before === 0 ? first !== undefined && !first.lastSibling : page.bars.length > forksAbove;
    for (const row of this.loaded()) {
      this.#byId.set(row.id, row);
    }
  }

  /** All loaded rows: the ancestors above the range, then the range. */
  *loaded(): Generator<Row> {
    yield* this.#above;
    yield* this.#list;
  }

  get size(): number {
    return this.#above.length + this.#list.length;
  }

  /** The number of rows of the range, without the ancestors above it. */
  get rangeSize(): number {
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

  /** The row at which the path to the leaf ends, if it is loaded. The leaf itself may be hidden. */
  tip(): Row | undefined {
    const last = this.#list.findLast((row) => row.onPath) ?? this.#above.findLast((row) => row.onPath);
    if (last === undefined) {
      return undefined;
    }
    let children = 0;
    for (const row of this.loaded()) {
      children += row.parentId === last.id ? 1 : 0;
    }
    return children === last.childCount ? last : undefined; // else the path may continue in rows that are not loaded
  }

  // --- places in the view ------------------------------------------------------------------------------------

  /** The ids at the top level, or of the rows nested below a row. */
  children(id: string | null): readonly string[] {
    const found = this.#structure().get(id);
    return found === undefined ? [] : "row" in found ? found.children : found;
  }

  rendered(id: string): RenderedRow | undefined {
    return this.#structure().get(id) as RenderedRow | undefined;
  }

  #structure(): Map<string | null, RenderedRow | readonly string[]> {
    if (this.#rendered !== undefined) {
      return this.#rendered;
    }
    const top: string[] = [];
    const made = new Map<string | null, RenderedRow | readonly string[]>([[null, top]]);
    let structure: Row | undefined; // the last row of `above` so far: the next one is nested below it
    const inAbove = new Set(this.#above);
    for (const row of this.loaded()) {
      const parent = this.get(row.parentId);
      let under: string | null;
      if (row.parentId === null) {
        under = null;
      } else if (parent === undefined) {
        under = structure?.id ?? null;
      } else if (parent.childCount > 1 || this.#beginsBranch(parent)) {
        under = parent.id;
      } else {
        under = (made.get(parent.id) as RenderedRow | undefined)?.under ?? null;
      }
      if (inAbove.has(row)) {
        structure = row;
      }
      made.set(row.id, { row, under, children: [] });
      const list = under === null ? top : ((made.get(under) as RenderedRow).children as string[]);
      list.push(row.id);
    }
    this.#rendered = made;
    return made;
  }

  /** Whether the row is one of several below a fork, or of several roots. */
  #beginsBranch(row: Row): boolean {
    if (row.parentId === null) {
      return this.#rootsFork;
    }
    const parent = this.get(row.parentId);
    return parent !== undefined ? parent.childCount > 1 : false;
  }

  // --- changes -----------------------------------------------------------------------------------------------

  /** Whether all descendants of a row are loaded, so that rows can be added after them. */
  isCompleteBelow(id: string): boolean {
    const row = this.get(id);
    return row !== undefined && (!this.more || this.#end(row) < this.#list.length);
  }

  /** The index after the last descendant of a row. */
  #end(row: Row): number {
    const inAbove = this.#above.indexOf(row);
    const below = new Set([row.id]);
    let place = this.#list.indexOf(row) + 1;
    if (inAbove >= 0) {
      // All rows above the range are ancestors of its first row, which need not name them as its parents.
      this.#above.slice(inAbove).forEach((each) => below.add(each.id));
      const [first] = this.#list;
      place = first === undefined ? 0 : 1;
      below.add(first?.id ?? row.id);
    }
    for (let next = this.#list[place]; next !== undefined; next = this.#list[place]) {
      if (next.parentId === null || !below.has(next.parentId)) {
        break;
      }
      below.add(next.id);
      place += 1;
    }
    return place;
  }

  /**
   * Insert a subtree: it replaces the rows of `rootId`, or becomes the last child of `anchorId`.
   *
   * `nodes` is the daemon's result for the root `rootId`. If that row itself is hidden, there are no nodes, or several
   * without a parent.
   */
  graft(rootId: string, nodes: readonly TreeNode[], anchorId: string | null): void {
    const old = this.get(rootId);
    let place: number;
    let replacedCount = 0;
    const anchor = this.get(anchorId);
    if (old !== undefined) {
      place = this.#list.indexOf(old);
      const end = this.#end(old);
      for (const row of this.#list.splice(place, end - place)) {
        this.#byId.delete(row.id);
      }
      replacedCount = 1;
    } else {
      place = anchor === undefined ? this.#list.length : this.#end(anchor);
    }
    const added = nodes.map((node) => ({ ...rowOf(node), parentId: node.parentId ?? anchorId }));
    const rootCount = nodes.filter((node) => node.parentId === null).length;
    this.#list.splice(place, 0, ...added);
    for (const row of added) {
      this.#byId.set(row.id, row);
    }
    if (anchor !== undefined) {
      this.#replace(anchor, { ...anchor, childCount: anchor.childCount + rootCount - replacedCount });
    } else if (anchorId === null && rootCount - replacedCount !== 0) {
      const several = [...this.loaded()].filter((row) => row.parentId === null).length > 1;
      this.#rootsFork = several || (this.#rootsFork && (this.before > 0 || this.more));
    }
    this.#rendered = undefined;
  }

  /** Add the next page after the last row. */
  append(page: Pick<TreeResult, "nodes" | "nextCursor">): void {
    for (const node of page.nodes) {
      if (!this.#byId.has(node.id)) {
        const row = rowOf(node);
        this.#list.push(row);
        this.#byId.set(row.id, row);
      }
    }
    this.more = page.nextCursor !== null;
    this.#rendered = undefined;
  }

  /** Add the rows before the first one, from a page around it. Returns the number of added rows. */
  prepend(page: Pick<TreeResult, "nodes" | "above" | "bars" | "precedingCount" | "nextCursor">): number {
    const place = page.nodes.findIndex((node) => node.id === this.first?.id);
    if (place < 0) {
      return 0;
    }
    const earlier = new Rows({ ...page, nodes: page.nodes.slice(0, place + 1) });
    const existing = [...this.#list];
    const rows = earlier.#list.slice(0, place);
    this.#above.splice(0, this.#above.length, ...earlier.#above);
    this.#list.splice(0, this.#list.length, ...rows, ...existing);
    this.#rootsFork = earlier.#rootsFork || this.#rootsFork;
    this.before = earlier.before;
    this.#byId.clear();
    for (const row of this.loaded()) {
      this.#byId.set(row.id, row);
    }
    this.#rendered = undefined;
    return rows.length;
  }

  /** Mark the rows of the path to a row; none if the leaf is before the first entry (undefined). */
  markPath(tip: Row | undefined): void {
    const path = new Set<string>();
    for (let row = tip; row !== undefined && !path.has(row.id); row = this.get(row.parentId)) {
      path.add(row.id);
      if (row.id === this.first?.id) {
        // It need not name its parent: all rows above the range are its ancestors.
        this.#above.forEach((each) => path.add(each.id));
      }
    }
    const lowest = this.#above.findLastIndex((row) => path.has(row.id));
    this.#above.slice(0, lowest + 1).forEach((each) => path.add(each.id));
    for (const list of [this.#above, this.#list]) {
      list.forEach((row, place) => {
        if (row.onPath !== path.has(row.id)) {
          this.#put(list, place, { ...row, onPath: !row.onPath });
        }
      });
    }
  }

  setLabel(id: string, label: string | null): void {
    const row = this.get(id);
    if (row !== undefined && row.label !== label) {
      this.#replace(row, { ...row, label });
    }
  }

  #replace(old: Row, row: Row): void {
    const list = this.#list.includes(old) ? this.#list : this.#above;
    this.#put(list, list.indexOf(old), row);
  }

  #put(list: Row[], place: number, row: Row): void {
    list[place] = row;
    this.#byId.set(row.id, row);
    this.#rendered = undefined;
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
