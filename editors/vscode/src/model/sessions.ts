// All sessions, grouped by folder: the folders of this window first, then the most recently used.
import type {
  ListedSession,
  ListParams,
  ListResult,
  SessionInfo,
  SessionsChangedNote,
  WatchLapsedNote,
} from "../protocol.ts";
import { ListWatch, type WatchRequests } from "./listWatch.ts";
import type { KnownSession } from "./words.ts";

const PAGE_SIZE = 50;

export interface ListRequests extends WatchRequests {
  list(params: ListParams): Promise<ListResult>;
}

export interface Group {
  readonly cwd: string;
  /** Whether it is a folder of this window. */
  readonly here: boolean;
  readonly sessions: readonly KnownSession[];
  /** Whether more sessions of this folder can be loaded. */
  readonly more: boolean;
}

type Sessions = Map<string, KnownSession>;
type Change = (sessions: Sessions) => void;

/** A list that follows the daemon between `start` and `stop`. */
export class SessionsModel {
  readonly #requests: ListRequests;
  readonly #onChange: () => void;
  readonly #watch: ListWatch;
  #folders: readonly string[];
  #listed: Sessions = new Map();
  /** Sessions in memory only, which are in no list. */
  readonly #ephemeral: Sessions = new Map();
  /** The cursor of the next page, by folder; of all folders by null. */
  #cursors = new Map<string | null, string | null>();
  #load = 0;
  /** For each request in flight, the changes since it was sent: its response may be older than these. */
  readonly #recorders = new Set<Change[]>();
  /** Why the list could not be read. */
  problem: string | undefined;
  loaded = false;
  query = "";

  constructor(folders: readonly string[], requests: ListRequests, onChange: () => void) {
    this.#folders = folders;
    this.#requests = requests;
    this.#onChange = onChange;
    this.#watch = new ListWatch(requests, {
      read: () => this.#read(),
      changed: (rows, removed) => this.#replace(rows, removed),
      failed: (error) => this.#failed(error),
    });
  }

  get size(): number {
    return this.#listed.size + this.#ephemeral.size;
  }

  get(sessionId: string): KnownSession | undefined {
    return this.#listed.get(sessionId) ?? this.#ephemeral.get(sessionId);
  }

  /** Whether more sessions can be loaded, of whichever folder. */
  get more(): boolean {
    return (this.#cursors.get(null) ?? null) !== null;
  }

  groups(): Group[] {
    const found = new Map<string, KnownSession[]>(this.#folders.map((cwd) => [cwd, []]));
    const ephemeral = this.query === "" ? this.#ephemeral.values() : [];
    for (const session of [...this.#listed.values(), ...ephemeral]) {
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
        rank(one) - rank(other) || newestFirst(one.sessions[0] as KnownSession, other.sessions[0] as KnownSession),
    );
  }

  // --- following the daemon ----------------------------------------------------------------------------------

  /** Watch the list for `query`. After `stop` or a lost connection, only what changed meanwhile is read. */
  start(): Promise<void> {
    if (this.problem !== undefined) {
      this.problem = undefined;
      this.#onChange();
    }
    return this.#watch.begin({ includeDrafts: true, ...this.#queryParams() });
  }

  /** Watch the list, and read all of it. */
  refresh(): Promise<void> {
    this.#watch.forget();
    return this.start();
  }

  stop(): void {
    this.#watch.pause();
  }

  disconnected(): void {
    this.#watch.disconnected();
  }

  sessionsChanged(note: SessionsChangedNote): void {
    this.#watch.changed(note);
  }

  watchLapsed(note: WatchLapsedNote): Promise<void> {
    return this.#watch.lapsed(note);
  }

  /** A session in memory was created or changed. The watch does not report it. */
  ephemeralChanged(session: SessionInfo): void {
    this.#ephemeral.set(session.sessionId, session);
    this.#onChange();
  }

  isEphemeral(sessionId: string): boolean {
    return this.#ephemeral.has(sessionId);
  }

  ephemeralDeleted(sessionId: string): void {
    if (this.#ephemeral.delete(sessionId)) {
      this.#onChange();
    }
  }

  /** The daemon ended, and its sessions in memory with it. */
  forgetEphemeral(): void {
    this.#ephemeral.clear();
  }

  // --- reading -----------------------------------------------------------------------------------------------

  /** Set the folders of this window. The next `start` reads the list for them. */
  setFolders(folders: readonly string[]): void {
    this.#folders = folders;
    this.#watch.forget();
  }

  /** Read the first pages. The former rows are shown until then. Returns whether the result is shown. */
  async #read(): Promise<boolean> {
    const load = ++this.#load;
    const changes = this.#record();
    const sessions: Sessions = new Map();
    const cursors = new Map<string | null, string | null>();
    try {
      for (const cwd of [...this.#folders, null]) {
        const page = await this.#requests.list(this.#listParams(cwd));
        if (load !== this.#load) {
          return false;
        }
        page.sessions.forEach((session) => sessions.set(session.sessionId, session));
        cursors.set(cwd, page.nextCursor);
      }
    } catch (error) {
      if (load === this.#load) {
        this.#failed(error);
      }
      return false;
    } finally {
      this.#recorders.delete(changes);
    }
    changes.forEach((change) => change(sessions));
    this.#listed = sessions;
    this.#cursors = cursors;
    this.problem = undefined;
    this.loaded = true;
    this.#onChange();
    return true;
  }

  /** Load the next page: of a folder, or (null) of all folders. */
  async loadMore(cwd: string | null): Promise<void> {
    const cursor = this.#cursors.get(cwd) ?? null;
    const load = this.#load;
    if (cursor === null) {
      return;
    }
    const changes = this.#record();
    let page: ListResult;
    try {
      page = await this.#requests.list({ ...this.#listParams(cwd), cursor });
    } finally {
      this.#recorders.delete(changes);
    }
    if (load !== this.#load || this.#cursors.get(cwd) !== cursor) {
      return;
    }
    page.sessions.forEach((session) => this.#listed.set(session.sessionId, session));
    changes.forEach((change) => change(this.#listed));
    this.#cursors.set(cwd, page.nextCursor);
    this.#onChange();
  }

  #listParams(cwd: string | null): ListParams {
    return { ...(cwd === null ? {} : { cwd }), ...this.#queryParams(), includeDrafts: true, limit: PAGE_SIZE };
  }

  #queryParams(): { query?: string } {
    return this.query === "" ? {} : { query: this.query };
  }

  #failed(error: unknown): void {
    this.problem = error instanceof Error ? error.message : String(error);
    this.loaded = true;
    this.#onChange();
  }

  #record(): Change[] {
    const changes: Change[] = [];
    this.#recorders.add(changes);
    return changes;
  }

  #replace(rows: readonly ListedSession[], removed: readonly string[]): void {
    const change = (sessions: Sessions): void => {
      removed.forEach((sessionId) => sessions.delete(sessionId));
      rows.forEach((row) => sessions.set(row.sessionId, row));
    };
    change(this.#listed);
    this.#recorders.forEach((changes) => changes.push(change));
    this.#onChange();
  }
}

function newestFirst(one: KnownSession, other: KnownSession): number {
  if (one.updatedAt !== other.updatedAt) {
    return one.updatedAt < other.updatedAt ? 1 : -1;
  }
  return one.sessionId < other.sessionId ? -1 : 1;
}
