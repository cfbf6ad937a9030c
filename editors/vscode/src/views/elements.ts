// What the views hand to VS Code, and VS Code to commands: plain things that name a session, an entry or a folder.

export interface EntryElement {
  readonly kind: "entry";
  readonly sessionId: string;
  readonly entryId: string;
}

/** A placeholder for rows before or after the loaded ones. */
export interface StretchElement {
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

/** Elements by name, so that VS Code meets the same object for the same thing. */
export class Interned<T> {
  readonly #made = new Map<string, T>();

  get(name: string, make: () => T): T {
    let found = this.#made.get(name);
    if (found === undefined) {
      found = make();
      this.#made.set(name, found);
    }
    return found;
  }

  clear(): void {
    this.#made.clear();
  }
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

export interface NamedEntry {
  readonly sessionId: string;
  readonly entryId: string;
  /** What is opened leaves the keyboard where it is, so that one can walk on. */
  readonly staysHere?: boolean;
}

/** The entry that a command was given, by a view, a key binding or another extension. */
export function entryIn(argument: unknown): NamedEntry | undefined {
  const { sessionId, entryId, staysHere } = fields(argument);
  return typeof sessionId === "string" && typeof entryId === "string"
    ? { sessionId, entryId, staysHere: staysHere === true }
    : undefined;
}

/** The session that a command was given. */
export function sessionIn(argument: unknown): string | undefined {
  const { sessionId } = fields(argument);
  return typeof sessionId === "string" ? sessionId : undefined;
}
