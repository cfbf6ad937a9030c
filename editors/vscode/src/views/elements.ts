// The elements of the views, which VS Code passes to commands: plain objects that identify a session, an entry or a
// folder.

export interface EntryElement {
  readonly kind: "entry";
  readonly sessionId: string;
  readonly entryId: string;
}

/** A placeholder for rows before or after the loaded ones. */
export interface GapElement {
  readonly kind: "earlier" | "later";
}

export interface SessionElement {
  readonly kind: "session";
  readonly sessionId: string;
}

export interface FolderElement {
  readonly kind: "folder";
  readonly cwd: string;
}

/** A placeholder for sessions of a folder, or (null) of all folders, that are not loaded yet. */
export interface MoreElement {
  readonly kind: "more";
  readonly cwd: string | null;
}

/** The row with the number of automated sessions that a view hides. */
export interface HiddenElement {
  readonly kind: "hidden";
}

export const HIDDEN: HiddenElement = { kind: "hidden" };

/** Elements by name. VS Code identifies elements by object identity. */
export class Interned<T> {
  readonly #byName = new Map<string, T>();

  get(name: string, make: () => T): T {
    let found = this.#byName.get(name);
    if (found === undefined) {
      found = make();
      this.#byName.set(name, found);
    }
    return found;
  }

  clear(): void {
    this.#byName.clear();
  }
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

export interface EntryTarget {
  readonly sessionId: string;
  readonly entryId: string;
  /** Whether the keyboard focus stays in the view. */
  readonly preserveFocus?: boolean;
}

/** The entry in the argument of a command, from a view, a key binding or another extension. */
export function entryTarget(argument: unknown): EntryTarget | undefined {
  const { sessionId, entryId, preserveFocus } = fields(argument);
  return typeof sessionId === "string" && typeof entryId === "string"
    ? { sessionId, entryId, preserveFocus: preserveFocus === true }
    : undefined;
}

/** The session in the argument of a command. */
export function sessionTarget(argument: unknown): string | undefined {
  const { sessionId } = fields(argument);
  return typeof sessionId === "string" ? sessionId : undefined;
}
