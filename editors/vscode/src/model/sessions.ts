// All sessions in groups by their folders: those of this window first, then the others, what was used last first.
import type { ListParams, ListResult, SessionInfo } from "../protocol.ts";
import type { Shown } from "./words.ts";

const PAGE = 50;

export type AskList = (params: ListParams) => Promise<ListResult>;

export interface Group {
  readonly cwd: string;
  /** A folder of this window. */
  readonly here: boolean;
  readonly sessions: readonly Shown[];
  /** There are more that are not listed yet. */
  readonly more: boolean;
}

export class SessionsModel {
  readonly #ask: AskList;
  readonly #onChange: () => void;
  #folders: readonly string[];
  #sessions = new Map<string, Shown>();
  #cursors = new Map<string | null, string | null>(); // folder, or null for all -> where to go on
  #load = 0;
  #changes: ((sessions: Map<string, Shown>) => void)[] = []; // notifications that arrived during a load
  #loading = false;
  /** The list could not be read. */
  problem: string | undefined;
  loaded = false;
  query = "";

  constructor(folders: readonly string[], ask: AskList, onChange: () => void) {
    this.#folders = folders;
    this.#ask = ask;
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#sessions.size;
  }

  get(sessionId: string): Shown | undefined {
    return this.#sessions.get(sessionId);
  }

  /** Whether there are sessions that belong to no folder listed so far. */
  get more(): boolean {
    return (this.#cursors.get(null) ?? null) !== null;
  }

  groups(): Group[] {
    const found = new Map<string, Shown[]>(this.#folders.map((cwd) => [cwd, []]));
    for (const session of this.#sessions.values()) {
      const list = found.get(session.cwd);
      if (list === undefined) {
        found.set(session.cwd, [session]);
      } else {
        list.push(session);
      }
    }
    const groups: Group[] = [];
    for (const [cwd, sessions] of found) {
      const here = this.#folders.includes(cwd);
      const more = here && (this.#cursors.get(cwd) ?? null) !== null;
      if (sessions.length > 0) {
        groups.push({ cwd, here, sessions: sessions.sort(newestFirst), more });
      }
    }
    const rank = (group: Group): number => (group.here ? this.#folders.indexOf(group.cwd) : this.#folders.length);
    return groups.sort(
      (one, other) =>
        rank(one) - rank(other) || newestFirst(one.sessions[0] as Shown, other.sessions[0] as Shown),
    );
  }

  setFolders(folders: readonly string[]): Promise<void> {
    this.#folders = folders;
    return this.load();
  }

  /** Reload all sessions. The old ones are shown until the load is complete. */
  async load(): Promise<void> {
    const load = ++this.#load;
    this.#changes = [];
    this.#loading = true;
    const sessions = new Map<string, Shown>();
    const cursors = new Map<string | null, string | null>();
    try {
      for (const cwd of [...this.#folders, null]) {
        const page = await this.#ask(this.#question(cwd));
        if (load !== this.#load) {
          return;
        }
        page.sessions.forEach((session) => sessions.set(session.sessionId, session));
        cursors.set(cwd, page.nextCursor);
      }
      this.#changes.forEach((change) => change(sessions));
      this.#sessions = sessions;
      this.#cursors = cursors;
      this.problem = undefined;
    } catch (error) {
      if (load !== this.#load) {
        return;
      }
      this.problem = (error as Error).message;
    }
    this.loaded = true;
    this.#loading = false;
    this.#changes = [];
    this.#onChange();
  }

  /** Read on: a folder's sessions, or (null) those of all folders. */
  async readOn(cwd: string | null): Promise<void> {
    const cursor = this.#cursors.get(cwd) ?? null;
    const load = this.#load;
    if (cursor === null) {
      return;
    }
    const page = await this.#ask({ ...this.#question(cwd), cursor });
    if (load !== this.#load || this.#cursors.get(cwd) !== cursor) {
      return;
    }
    page.sessions.forEach((session) => this.#sessions.set(session.sessionId, session));
    this.#cursors.set(cwd, page.nextCursor);
    this.#onChange();
  }

  #question(cwd: string | null): ListParams {
    const which = cwd === null ? {} : { cwd };
    return { ...which, ...(this.query === "" ? {} : { query: this.query }), includeDrafts: true, limit: PAGE };
  }

  // --- notifications of the daemon ---------------------------------------------------------------------------

  changed(session: SessionInfo): void {
    this.#apply((sessions) => {
      const known = sessions.get(session.sessionId);
      if (known !== undefined || this.query === "") {
        sessions.set(session.sessionId, { ...known, ...session });
      }
    });
  }

  gone(sessionId: string): void {
    this.#apply((sessions) => sessions.delete(sessionId));
  }

  #apply(change: (sessions: Map<string, Shown>) => void): void {
    change(this.#sessions);
    if (this.#loading) {
      this.#changes.push(change); // the response in flight may be older than this change
    }
    this.#onChange();
  }
}

function newestFirst(one: Shown, other: Shown): number {
  if (one.updatedAt !== other.updatedAt) {
    return one.updatedAt < other.updatedAt ? 1 : -1;
  }
  return one.sessionId < other.sessionId ? -1 : 1;
}
