// The loaded rows of a tree in the daemon's layout `path`, and their places in the view.
//
// The path to the leaf is one list at the top level. Other branches are nested below their fork, each folded to its
// first row. The rows of an open branch are nested below its first row.
import { isDeepStrictEqual } from "node:util";
import type { TreeChangedNote, TreeNode } from "../protocol.ts";

/** A row and its place in the view. `under` is null at the top level. */
export interface RenderedRow {
  readonly row: TreeNode;
  readonly under: string | null;
  readonly children: readonly string[];
}

/** Whether a row is the first one of a branch beside the path. */
export function beginsBranch(row: Pick<TreeNode, "gutter">): boolean {
  return row.gutter.endsWith("+") || row.gutter.endsWith("'");
}

/** A range of the view without gaps, in the order of the daemon. It does not change. */
export class Rows {
  static readonly none = new Rows([], 0, 0, -1);

  readonly list: readonly TreeNode[];
  /** The number of rows of the view before the first loaded one. */
  readonly before: number;
  /** The number of rows of the view after the last loaded one. */
  readonly later: number;
  /** The row that shows the leaf: its own, or that of its nearest visible ancestor. Undefined if it is not loaded. */
  readonly tip: TreeNode | undefined;
  readonly #top: string[] = [];
  readonly #places = new Map<string, RenderedRow & { children: string[] }>();

  private constructor(list: readonly TreeNode[], before: number, later: number, tip: number) {
    this.list = list;
    this.before = before;
    this.later = later;
    this.tip = list[tip];
    const starts: (string | null)[] = []; // the first rows of the branches that the row is in, if they are loaded
    for (const row of list) {
      starts.length = row.indent;
      let under = starts[row.indent - 1] ?? null;
      if (beginsBranch(row)) {
        under = this.get(row.parentId)?.id ?? starts[row.indent - 2] ?? null;
        starts[row.indent - 1] = row.id;
      }
      (under === null ? this.#top : this.#places.get(under)?.children)?.push(row.id);
      this.#places.set(row.id, { row, under, children: [] });
    }
  }

  /** Return the rows after a notification of their watch. */
  with(note: TreeChangedNote): Rows {
    const list = [...this.list];
    for (const { place, removed, nodes } of note.changes) {
      list.splice(place, removed, ...nodes);
    }
    const labels = new Map(note.labels.map(({ entryId, label }) => [entryId, label]));
    const tip = note.pathEnd === null ? -1 : note.pathEnd - note.precedingCount;
    const marked = list.map((row, place) => {
      const onPath = row.indent === 0 && place <= tip;
      const label = labels.get(row.id) ?? (labels.has(row.id) ? null : row.label);
      return row.onPath === onPath && row.label === label ? row : { ...row, onPath, label };
    });
    return new Rows(marked, note.precedingCount, note.visibleCount - note.precedingCount - marked.length, tip);
  }

  get(id: string | null | undefined): TreeNode | undefined {
    return this.rendered(id)?.row;
  }

  rendered(id: string | null | undefined): RenderedRow | undefined {
    return typeof id === "string" ? this.#places.get(id) : undefined;
  }

  /** The ids at the top level, or of the rows nested below a row. */
  children(id: string | null): readonly string[] {
    return id === null ? this.#top : (this.#places.get(id)?.children ?? []);
  }

  /**
   * Return the params of a watch that begins with the first of these rows and shows all of them, also if other branches
   * are open: at least `least` rows if enough follow. If these are few, rows before the first one come, too.
   */
  range(isOpen: (id: string) => boolean, least: number): { aroundId: string | null; limit: number } {
    const places: [string, number][] = [];
    let count = 0;
    let folded = Infinity; // the indentation of the branch that will be folded
    for (const row of this.list) {
      const begins = beginsBranch(row);
      if (row.indent > folded || (row.indent === folded && !begins)) {
        continue;
      }
      folded = begins && !isOpen(row.id) ? row.indent : Infinity;
      places.push([row.id, count]);
      count += 1 + (folded === Infinity ? row.hiddenCount : 0);
    }
    const last = places.at(-1);
    if (last === undefined) {
      return { aroundId: null, limit: least };
    }
    // The daemon sends the rows around one in the middle; if too few follow, the last rows of the view.
    const all = count + this.later;
    const wanted = Math.min(Math.max(count, least), all);
    const [aroundId, place] = places.find((each) => 2 * each[1] + 1 >= wanted) ?? last;
    const limit = Math.min(Math.max(2 * place, wanted), 2 * place + 1);
    const found = limit <= all ? { aroundId, limit } : { aroundId: last[0], limit: all };
    return 2 * found.limit < least ? { ...found, limit: least } : found;
  }
}

/** The rows to refresh: `all`, or the rows whose content or children changed. */
export function difference(before: Rows, after: Rows): "all" | string[] {
  const changed: string[] = [];
  for (const row of after.list) {
    const now = after.rendered(row.id) as RenderedRow;
    const was = before.rendered(row.id);
    if (was === undefined) {
      continue; // a new row: the children of its parent changed
    }
    if (was.under !== now.under) {
      return "all"; // VS Code does not support that a row changes its parent
    }
    const isTip = [before, after].map((rows) => rows.tip?.id === row.id);
    if (isTip[0] !== isTip[1] || !looksLike(was.row, now.row) || !isDeepStrictEqual(was.children, now.children)) {
      changed.push(row.id);
    }
  }
  const ends = (rows: Rows): unknown[] => [rows.before, rows.later, rows.children(null)];
  return isDeepStrictEqual(ends(before), ends(after)) ? changed : "all";
}

function looksLike(one: TreeNode, other: TreeNode): boolean {
  return one === other || isDeepStrictEqual({ ...one, depth: 0 }, { ...other, depth: 0 }); // no view shows the depth
}
