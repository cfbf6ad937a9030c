// The simplest implementation of the daemon's `session/tree`, for the property tests of the model.
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
    const path = new Set<string>();
    for (let id = this.leafId; id !== null; id = this.entries.find((entry) => entry.id === id)?.parentId ?? null) {
      path.add(id);
    }
    const nodes: TreeNode[] = [];
    const walk = (entry: FakeEntry, above: TreeNode | null): void => {
      let next = above;
      if (this.#isVisible(entry, params)) {
        next = {
          id: entry.id,
          parentId: above?.id ?? null,
          depth: above === null ? 0 : above.depth + 1,
          indent: 0,
          seq: this.entries.indexOf(entry) + 1,
          type: entry.type,
          timestamp: null,
          childCount: 0,
          onPath: path.has(entry.id),
          role: entry.role ?? null,
          preview: entry.text ?? "",
          label: this.#label(entry.id),
          lastSibling: true,
        };
        if (above !== null) {
          above.childCount += 1;
        }
        nodes.findLast((node) => node.parentId === (next as TreeNode).parentId && node !== next);
        for (const node of nodes) {
          if (node.parentId === next.parentId) {
            node.lastSibling = false;
          }
        }
        nodes.push(next);
      }
      for (const child of this.entries.filter((each) => each.parentId === entry.id)) {
        walk(child, next);
      }
    };
    const roots = this.entries.filter((entry) =>
      params.rootId ? entry.id === params.rootId : entry.parentId === null,
    );
    roots.forEach((root) => walk(root, null));
    return this.#page(nodes, params);
  }

  #page(nodes: TreeNode[], params: TreeParams): TreeResult {
    const limit = params.limit ?? 1000;
    let start = params.cursor ? Number(params.cursor) : 0;
    if (params.aroundId) {
      let id: string | null = params.aroundId;
      while (id !== null && !nodes.some((node) => node.id === id)) {
        id = this.entries.find((entry) => entry.id === id)?.parentId ?? null;
      }
      const place = nodes.findIndex((node) => node.id === id);
      start = Math.max(0, Math.max(place, 0) - Math.floor(limit / 2));
    }
    const end = Math.min(start + limit, nodes.length);
    const above: TreeNode[] = [];
    const bars: boolean[] = [];
    const find = (id: string | null): TreeNode | undefined => nodes.find((node) => node.id === id);
    const severalRoots = nodes.filter((node) => node.parentId === null).length > 1;
    const forks = (node: TreeNode): boolean => {
      const parent = find(node.parentId);
      return parent === undefined ? severalRoots : parent.childCount > 1;
    };
    for (let node = start > 0 ? nodes[start] : undefined; node !== undefined; node = find(node.parentId)) {
      if (forks(node)) {
        bars.unshift(!node.lastSibling);
      }
      const parent = find(node.parentId);
      if (params.aroundId && parent !== undefined && (parent.childCount > 1 || forks(parent))) {
        above.unshift(parent);
      }
    }
    return {
      nodes: nodes.slice(start, end),
      logId: "log-1",
      leafId: this.leafId,
      entryCount: this.entries.length,
      nextCursor: end < nodes.length ? String(end) : null,
      visibleCount: nodes.length,
      precedingCount: start,
      bars,
      above,
    };
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
