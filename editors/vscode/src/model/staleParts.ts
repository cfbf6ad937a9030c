// The parts of a tree that have to be read after entries were appended.
import type { Entry } from "../protocol.ts";

export class StaleParts {
  /** All rows have to be read again. */
  isAll = false;
  /** The first entry of each part, and its parent. */
  readonly #roots = new Map<string, string | null>();
  /** The entries of these parts. */
  readonly #entries = new Set<string>();
  /** The parents of appended entries, which the filter may hide. */
  readonly #parents = new Map<string, string | null>();

  get isEmpty(): boolean {
    return !this.isAll && this.#roots.size === 0;
  }

  /** The number of parts. */
  get count(): number {
    return this.#roots.size;
  }

  /** Remove and return the parts: the id of the root and of its parent. */
  take(): [string, string | null][] {
    const parts = [...this.#roots];
    this.clear();
    return parts;
  }

  /** No row has to be read. The parents of hidden entries stay known. */
  clear(): void {
    this.isAll = false;
    this.#roots.clear();
    this.#entries.clear();
  }

  /** Record the parent of an appended entry. */
  setParent(id: string, parentId: string | null): void {
    this.#parents.set(id, parentId);
  }

  forgetParents(): void {
    this.#parents.clear();
  }

  /** The parent of an appended entry; undefined if the entry is unknown. */
  parentOf(id: string): string | null | undefined {
    return this.#parents.get(id);
  }

  /** Add an appended entry to the part of its parent, or as a new part. `batch` has the ids of the same notification. */
  add({ id, parentId = null }: Pick<Entry, "id" | "parentId">, batch: ReadonlySet<string>): void {
    if (parentId !== null && (batch.has(parentId) || this.#entries.has(parentId))) {
      this.#entries.add(id);
    } else {
      this.addRoot(id, parentId);
    }
  }

  /** Add a part that begins with an entry. */
  addRoot(id: string, parentId: string | null): void {
    this.#entries.add(id);
    this.#parents.set(id, parentId);
    this.#roots.set(id, parentId);
  }
}
