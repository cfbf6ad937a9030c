// All sessions, grouped by folder: the folders of this window first, each with the sessions of its whole project, then
// the most recently used.
import type {
  ListedSession,
  ListParams,
  ListResult,
  SessionInfo,
  SessionsChangedNote,
  WatchLapsedNote,
} from "../protocol.ts";
import { countAutomated, isAutomated } from "./automated.ts";
import { ListWatch, type WatchRequests } from "./listWatch.ts";
import type { KnownSession } from "./words.ts";

const PAGE_SIZE = 50;

export interface ListRequests extends WatchRequests {
  list(params: ListParams): Promise<ListResult>;
}

export interface Group {
  /** Changes with `here`: VS Code keeps the state in which a row of the same id was first shown, open or closed. */
  readonly id: string;
  readonly cwd: string;
  /** Whether it is a folder of this window. Then the group has all sessions of its project. */
  readonly here: boolean;
  readonly sessions: readonly KnownSession[];
  /** Whether more sessions of the group can be loaded. */
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
  /** The folder of this window to whose project a folder belongs, by folder; null if there is none. */
  #homes = new Map<string, string | null>();
  /** The cursor of the next page, by folder of this window; of all sessions by null. */
  #cursors = new Map<string | null, string | null>();
  #load = 0;
  /** For each request in flight, the changes since it was sent: its response may be older than these. */
  readonly #recorders = new Set<Change[]>();
  /** Why the list could not be read. */
  problem: string | undefined;
  loaded = false;
  query = "";
  /** The number of automated sessions that the list hides. */
  hiddenCount = 0;
  #showsAutomated: boolean;
  /** Hidden sessions that are counted, of those that have changed since the list was read. */
  readonly #hidden = new Set<string>();

  constructor(folders: readonly string[], requests: ListRequests, onChange: () => void, showsAutomated = false) {
    this.#folders = folders;
    this.#showsAutomated = showsAutomated;
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

  /** The folder of the group that has a session. */
  groupOf({ cwd }: Pick<KnownSession, "cwd">): string {
    return this.#folders.includes(cwd) ? cwd : (this.#homes.get(cwd) ?? cwd);
  }

  groups(): Group[] {
    const found = new Map<string, KnownSession[]>(this.#folders.map((cwd) => [cwd, []]));
    const ephemeral = this.query === "" ? this.#ephemeral.values() : [];
    for (const session of [...this.#listed.values(), ...ephemeral]) {
      const folder = this.groupOf(session);
      const list = found.get(folder);
      if (list === undefined) {
        found.set(folder, [session]);
      } else {
        list.push(session);
      }
    }
    const groups: Group[] = [];
    for (const [cwd, sessions] of found) {
      const here = this.#folders.includes(cwd);
      const more = here && (this.#cursors.get(cwd) ?? null) !== null;
      if (sessions.length > 0) {
        groups.push({ id: `${here ? "here" : "folder"}:${cwd}`, cwd, here, sessions: sessions.sort(newestFirst), more });
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

  /** Show automated sessions, or count them only. The next `start` reads the list. */
  showAutomated(shows: boolean): void {
    this.#showsAutomated = shows;
    this.#watch.forget();
  }

  /** Read the first pages. The former rows are shown until then. Returns whether the result is shown. */
  async #read(): Promise<boolean> {
    const load = ++this.#load;
    const changes = this.#record();
    const sessions: Sessions = new Map();
    const homes = new Map<string, string | null>();
    const cursors = new Map<string | null, string | null>();
    let hiddenCount = 0;
    try {
      for (const folder of [...this.#folders, null]) {
        const page = await this.#requests.list(this.#listParams(folder));
        if (load !== this.#load) {
          return false;
        }
        for (const session of page.sessions) {
          sessions.set(session.sessionId, session);
          // Sessions of a project on the first page of all sessions are on the first page of the project, too.
          homes.set(session.cwd, homes.get(session.cwd) ?? folder);
        }
        cursors.set(folder, page.nextCursor);
      }
      hiddenCount = await this.#countHidden();
      if (load !== this.#load) {
        return false;
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
    this.#homes = homes;
    this.#cursors = cursors;
    this.hiddenCount = hiddenCount;
    this.#hidden.clear();
    this.problem = undefined;
    this.loaded = true;
    this.#onChange();
    void this.#learnHomes();
    return true;
  }

  /** Load the next page: of the project of a folder of this window, or (null) of all sessions. */
  async loadMore(folder: string | null): Promise<void> {
    const cursor = this.#cursors.get(folder) ?? null;
    const load = this.#load;
    if (cursor === null) {
      return;
    }
    const changes = this.#record();
    let page: ListResult;
    try {
      page = await this.#requests.list({ ...this.#listParams(folder), cursor });
    } finally {
      this.#recorders.delete(changes);
    }
    if (load !== this.#load || this.#cursors.get(folder) !== cursor) {
      return;
    }
    for (const session of page.sessions) {
      this.#listed.set(session.sessionId, session);
      if (folder !== null) {
        this.#homes.set(session.cwd, this.#homes.get(session.cwd) ?? folder);
      }
    }
    changes.forEach((change) => change(this.#listed));
    this.#cursors.set(folder, page.nextCursor);
    this.#onChange();
    void this.#learnHomes();
  }

  /** Ask to which project each folder belongs that is not known yet. */
  async #learnHomes(): Promise<void> {
    const homes = this.#homes;
    const cwds = new Set([...this.#listed.values()].map(({ cwd }) => cwd));
    for (const cwd of cwds) {
      if (homes.has(cwd) || this.#folders.includes(cwd)) {
        continue;
      }
      homes.set(cwd, null); // each folder is asked about once
      for (const folder of cwd === "" ? [] : this.#folders) {
        try {
          const { sessions } = await this.#requests.list({ cwd, project: folder, includeDrafts: true, limit: 1 });
          if (homes !== this.#homes) {
            return;
          }
          if (sessions.length > 0) {
            homes.set(cwd, folder);
            this.#onChange();
            break;
          }
        } catch {
          return; // not attached any more: the list is read again
        }
      }
    }
  }

  #listParams(folder: string | null): ListParams {
    const place = folder === null ? {} : { project: folder };
    const shown = this.#showsAutomated ? {} : { automated: false };
    return { ...place, ...shown, ...this.#queryParams(), includeDrafts: true, limit: PAGE_SIZE };
  }

  async #countHidden(): Promise<number> {
    const params = { ...this.#queryParams(), includeDrafts: true };
    return this.#showsAutomated ? 0 : countAutomated((asked) => this.#requests.list(asked), params);
  }

  /** Count hidden sessions again after a change. */
  async #recount(): Promise<void> {
    const load = this.#load;
    try {
      const hiddenCount = await this.#countHidden();
      if (load === this.#load && hiddenCount !== this.hiddenCount) {
        this.hiddenCount = hiddenCount;
        this.#onChange();
      }
    } catch {
      // not attached any more: the list is read again
    }
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
    // The watch is that of all sessions, so that it also tells of hidden ones.
    const hidden = this.#showsAutomated ? [] : rows.filter(isAutomated).map(({ sessionId }) => sessionId);
    const shown = this.#showsAutomated ? rows : rows.filter((row) => !isAutomated(row));
    const change = (sessions: Sessions): void => {
      [...removed, ...hidden].forEach((sessionId) => sessions.delete(sessionId));
      shown.forEach((row) => sessions.set(row.sessionId, row));
    };
    const isNew = hidden.some((sessionId) => !this.#hidden.has(sessionId));
    const isGone = removed.some((sessionId) => !this.#listed.has(sessionId));
    const isTakenOver = shown.some(({ sessionId }) => this.#hidden.has(sessionId) || !this.#listed.has(sessionId));
    hidden.forEach((sessionId) => this.#hidden.add(sessionId));
    [...removed, ...shown.map(({ sessionId }) => sessionId)].forEach((sessionId) => this.#hidden.delete(sessionId));
    if (!this.#showsAutomated && (isNew || isGone || isTakenOver)) {
      void this.#recount();
    }
    change(this.#listed);
    this.#recorders.forEach((changes) => changes.push(change));
    this.#onChange();
    void this.#learnHomes();
  }
}

function newestFirst(one: KnownSession, other: KnownSession): number {
  if (one.updatedAt !== other.updatedAt) {
    return one.updatedAt < other.updatedAt ? 1 : -1;
  }
  return one.sessionId < other.sessionId ? -1 : 1;
}
