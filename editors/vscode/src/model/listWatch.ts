// A watch of a list of sessions. Independent of VS Code.
//
// The watch knows the position of the list that this window has. After a pause or a lost connection it resumes there:
// the daemon sends only the rows that changed meanwhile. If the daemon cannot do that, the list is read again.
import type {
  ListedSession,
  ListFilter,
  ListPosition,
  SessionsChangedNote,
  UnwatchParams,
  WatchLapsedNote,
  WatchParams,
  WatchResult,
} from "../protocol.ts";

export interface WatchRequests {
  watch(params: WatchParams): Promise<WatchResult>;
  unwatch(params: UnwatchParams): Promise<unknown>;
}

/** The list that is watched. */
export interface Watched {
  /** Read the whole list. Resolves to false if it could not be read, or if another read replaced this one. */
  read(): Promise<boolean>;
  /** Rows that changed, and the ids of sessions that are not in the list any more. */
  changed(rows: readonly ListedSession[], removed: readonly string[]): void;
  /** The daemon refused the watch. */
  failed(error: unknown): void;
}

export class ListWatch {
  readonly #requests: WatchRequests;
  readonly #list: Watched;
  #filter: ListFilter = {};
  #watchId: string | undefined;
  #position: ListPosition | undefined;
  /** Whether the list was read and has all changes up to `#position`. */
  #isRead = false;
  /** Number of the last `begin`, `pause` or `disconnected`: the result of an older `begin` is dropped. */
  #attempt = 0;
  /** Notifications that arrived before the id of the watch was known. */
  #early: SessionsChangedNote[] = [];

  constructor(requests: WatchRequests, list: Watched) {
    this.#requests = requests;
    this.#list = list;
  }

  /** Watch the sessions of a filter. Continues the previous watch if it had the same filter. */
  async begin(filter: ListFilter): Promise<void> {
    const attempt = ++this.#attempt;
    this.#unwatch();
    this.#early = [];
    if (JSON.stringify(filter) !== JSON.stringify(this.#filter)) {
      this.#filter = filter;
      this.#isRead = false;
    }
    const after = this.#isRead ? (this.#position ?? null) : null;
    let begun: WatchResult;
    try {
      begun = await this.#requests.watch({ filter, after });
    } catch (error) {
      if (attempt === this.#attempt) {
        this.#list.failed(error);
      }
      return;
    }
    if (attempt !== this.#attempt) {
      this.#requests.unwatch({ watchId: begun.watchId }).catch(() => undefined);
      return;
    }
    this.#watchId = begun.watchId;
    if (begun.mode !== "replay") {
      this.#isRead = false;
      this.#position = { epoch: begun.epoch, position: begun.position };
    }
    this.#early.splice(0).forEach((note) => this.changed(note));
    if (!this.#isRead) {
      const isRead = await this.#list.read();
      if (attempt === this.#attempt) {
        this.#isRead = isRead;
      }
    }
  }

  /** End the watch. The next `begin` resumes it. */
  pause(): void {
    this.#attempt += 1;
    this.#unwatch();
  }

  /** The watch ended with its connection. The next `begin` resumes it. */
  disconnected(): void {
    this.#attempt += 1;
    this.#watchId = undefined;
  }

  /** The next `begin` reads the whole list. */
  forget(): void {
    this.#isRead = false;
  }

  /** Handle `server/sessionsChanged`. */
  changed(note: SessionsChangedNote): void {
    if (this.#watchId === undefined) {
      this.#early.push(note);
    } else if (note.watchId === this.#watchId) {
      this.#position = { epoch: note.epoch, position: note.position };
      this.#list.changed(note.changed, note.removed);
    }
  }

  /** Handle `server/watchLapsed`. */
  async lapsed(note: WatchLapsedNote): Promise<void> {
    if (note.watchId === this.#watchId) {
      this.#watchId = undefined;
      this.#isRead = false;
      await this.begin(this.#filter);
    }
  }

  #unwatch(): void {
    const watchId = this.#watchId;
    this.#watchId = undefined;
    if (watchId !== undefined) {
      this.#requests.unwatch({ watchId }).catch(() => undefined); // it ended with the connection
    }
  }
}
