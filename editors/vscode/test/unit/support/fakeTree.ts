// The simplest implementation of the layout `path` of the daemon's `session/tree`, for the property tests of the model.
import assert from "node:assert/strict";
import type { AppendedNote, TreeNode, TreeParams, TreeResult } from "../../../src/protocol.ts";

export interface FakeEntry {
  id: string;
  parentId: string | null;
  type: string;
  /** Of a message. An empty message of an assistant is visible only while it is the leaf. */
  role?: string;
  text?: string;
  targetId?: string | null;
  label?: string;
}

export class FakeTree {
  readonly entries: FakeEntry[] = [];
  leafId: string | null = null;
  requested: TreeParams[] = [];

  append(...entries: FakeEntry[]): AppendedNote {
    const first = this.entries.length + 1;
    for (const entry of entries) {
      this.entries.push(entry);
      this.leafId = entry.type === "leaf" ? (entry.targetId ?? null) : entry.id;
    }
    return {
      sessionId: "s",
      logId: "log",
      items: entries.map((entry, index) => ({
        seq: first + index,
        entry: { ...entry, timestamp: "2026-01-01T00:00:00.000Z" } as never,
      })),
      fromSeq: first,
      toSeq: this.entries.length,
      leafId: this.leafId,
      origin: null,
      replay: false,
    };
  }

  tree = (params: TreeParams): Promise<TreeResult> => {
    this.requested.push(params);
    return Promise.resolve(this.#result(params));
  };

  #label(id: string): string | null {
    return this.entries.findLast((entry) => entry.type === "label" && entry.targetId === id)?.label || null;
  }

  #isVisible(entry: FakeEntry, params: TreeParams): boolean {
    if (entry.type === "leaf") {
      return false;
    }
    const filter = params.filter ?? "default";
    if (params.query && !(entry.text ?? "").includes(params.query)) {
      return false;
    }
    if (filter === "all") {
      return true;
    }
    if (filter === "labeledOnly") {
      return this.#label(entry.id) !== null;
    }
    if (filter === "userOnly") {
      return entry.role === "user";
    }
    const isHidden = entry.role === "assistant" && !entry.text && entry.id !== this.leafId;
    return entry.type === "message" && !isHidden;
  }

  #result(params: TreeParams): TreeResult {
    assert.equal(params.layout, "path");
    const open = new Set(params.openIds ?? []);
    let layout = this.#laidOut(params, open);
    let around = params.aroundId ?? null;
    while (around !== null && !this.#isVisible(this.#entry(around), params)) {
      around = this.#entry(around).parentId;
    }
    if (around !== null && !layout.nodes.some((node) => node.id === around)) {
      this.#ancestors(around).forEach((id) => open.add(id));
      layout = this.#laidOut(params, open);
    }
    const limit = params.limit ?? 1000;
    const place = layout.nodes.findIndex((node) => node.id === around);
    const start = params.cursor ? Number(params.cursor) : Math.max(0, Math.max(place, 0) - Math.floor(limit / 2));
    const end = Math.min(start + limit, layout.nodes.length);
    return {
      nodes: layout.nodes.slice(start, end),
      logId: "log-1",
      leafId: this.leafId,
      entryCount: this.entries.length,
      nextCursor: end < layout.nodes.length ? String(end) : null,
      visibleCount: layout.nodes.length,
      precedingCount: start,
      openIds: params.openAll ? [] : layout.openIds,
    };
  }

  #entry(id: string): FakeEntry {
    return this.entries.find((entry) => entry.id === id)!;
  }

  /** An entry and the entries above it. */
  #ancestors(id: string | null): Set<string> {
    const found = new Set<string>();
    for (let at = id; at !== null; at = this.#entry(at).parentId) {
      found.add(at);
    }
    return found;
  }

  #laidOut(params: TreeParams, open: ReadonlySet<string>): { nodes: TreeNode[]; openIds: string[] } {
    const path = this.#ancestors(this.leafId);
    const nodes: TreeNode[] = [];
    const openIds: string[] = [];
    const isVisible = (entry: FakeEntry): boolean => this.#isVisible(entry, params);
    const children = (id: string | null): FakeEntry[] => this.entries.filter((entry) => entry.parentId === id);
    const below = (entry: FakeEntry): FakeEntry[] => [entry, ...children(entry.id).flatMap(below)];
    const newest = (entry: FakeEntry): number =>
      Math.max(-1, ...below(entry).filter(isVisible).map((each) => this.entries.indexOf(each)));
    const tops = (entry: FakeEntry): FakeEntry[] => (isVisible(entry) ? [entry] : children(entry.id).flatMap(tops));
    const followedOf = (entries: FakeEntry[]): FakeEntry | undefined =>
      entries.find((entry) => path.has(entry.id)) ??
      entries.reduce<FakeEntry | undefined>((one, other) => (one && newest(one) >= newest(other) ? one : other), undefined);
    const node = (entry: FakeEntry, above: string | null, indent: number, gutter: string, hiddenCount = 0): void => {
      nodes.push({
        id: entry.id,
        parentId: above,
        depth: 0,
        indent,
        seq: this.entries.indexOf(entry) + 1,
        type: entry.type,
        timestamp: null,
        childCount: children(entry.id).flatMap(tops).length,
        onPath: path.has(entry.id),
        role: entry.role ?? null,
        preview: entry.text ?? "",
        label: this.#label(entry.id),
        lastSibling: !gutter.endsWith("+"),
        gutter,
        hiddenCount,
      });
    };
    /** A line: one child of each fork is followed, and the other children are branches beside it. */
    const line = (
      first: FakeEntry | undefined,
      others: FakeEntry[],
      above: string | null,
      indent: number,
      gutter: string,
      firstGutter: string,
    ): void => {
      const branches = (): void => {
        others.forEach((entry, index) => {
          const start = gutter + (index === others.length - 1 ? "'" : "+");
          if (params.openAll || open.has(entry.id)) {
            openIds.push(entry.id);
            line(entry, [], above, indent + 1, gutter + (index === others.length - 1 ? " " : "|"), start);
          } else {
            node(entry, above, indent + 1, start, below(entry).filter(isVisible).length - 1);
          }
        });
        others = [];
      };
      for (let at = first; at !== undefined; ) {
        if (isVisible(at)) {
          branches();
          node(at, above, indent, firstGutter);
          above = at.id;
          firstGutter = gutter;
        }
        const below = children(at.id);
        const followed = followedOf(below);
        others.push(...below.filter((entry) => entry !== followed).flatMap(tops));
        at = followed;
      }
      branches();
    };
    if (params.rootId) {
      line(this.#entry(params.rootId), [], null, 0, "", "");
    } else {
      const roots = children(null);
      const followed = followedOf(roots);
      line(followed, roots.filter((root) => root !== followed).flatMap(tops), null, 0, "", "");
    }
    return { nodes, openIds };
  }
}

/** Reproducible random integers in [0, end). */
export function randomIntegers(seed: number): (end: number) => number {
  let state = seed * 2654435761 + 1;
  return (end) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
  };
}
