// The board: what every agent is doing now, in the sessions that were written lately. Independent of VS Code.
//
// The list is watched. The rest (last words, tokens, cost) is read once for each change of a session. The
// states are those of `sessiond top`.
import type { ListedSession, ListParams, ListResult, SessionOrigin, SessionsChangedNote, WatchLapsedNote } from "../protocol.ts";
import type { StatsParams, StatsResult, TreeParams, TreeResult } from "../protocol.ts";
import { isAutomated } from "./automated.ts";
import { ListWatch, type WatchRequests } from "./listWatch.ts";

/** `working`: in a turn; `waiting`: for a person; `stopped`: ended, aborted, or silent for ten minutes; `failed`: an error. */
export type BoardState = "working" | "waiting" | "stopped" | "failed";

export const STATES: readonly BoardState[] = ["working", "waiting", "stopped", "failed"];

export interface BoardRow {
  readonly session: ListedSession;
  readonly state: BoardState;
  /** The beginning of the last message on the path to the leaf. */
  readonly lastWords: string;
  /** Null if the agent records none. */
  readonly tokens: number | null;
  /** In US dollars; null if the agent records none. */
  readonly cost: number | null;
}

export interface BoardRequests extends WatchRequests {
  list(params: ListParams): Promise<ListResult>;
  tree(params: TreeParams): Promise<TreeResult>;
  stats(params: StatsParams): Promise<StatsResult>;
}

/** How long a session stays on the board after its last entry. */
const SHOWN_MS = 12 * 3600_000;
/** After this time without an entry, an agent in the middle of a turn counts as stopped. */
const WORKING_MS = 600_000;
/** After this time without an entry, a followed agent counts as ended. Of some agents, nothing tells the end. */
const WAITING_MS = 3600_000;
const MAX_ROWS = 100;
/** The number of automated sessions that are counted at first. */
const MAX_AUTOMATED = 1000;

interface Details {
  readonly version: string;
  readonly lastWords: string;
  readonly tokens: number | null;
  readonly cost: number | null;
}

export class Board {
  readonly #requests: BoardRequests;
  readonly #onChange: () => void;
  readonly #now: () => number;
  readonly #watch: ListWatch;
  #sessions = new Map<string, ListedSession>();
  readonly #details = new Map<string, Details>();
  /** The last error of a request; undefined after a success. */
  problem: string | undefined;
  #isReadingDetails = false;
  #showsAutomated: boolean;

  /** `onChange` is called after every change. `now` returns milliseconds since 1970. */
  constructor(requests: BoardRequests, onChange: () => void, now: () => number = Date.now, showsAutomated = false) {
    this.#showsAutomated = showsAutomated;
    this.#requests = requests;
    this.#onChange = onChange;
    this.#now = now;
    this.#watch = new ListWatch(requests, {
      read: () => this.#read(),
      changed: (rows, removed) => this.#changed(rows, removed),
      failed: (error) => this.#failed(error),
    });
  }

  /** Watch the sessions. */
  start(): Promise<void> {
    return this.#watch.begin({ includeDrafts: true });
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

  /** Show automated sessions, or count them only. */
  showAutomated(shows: boolean): void {
    this.#showsAutomated = shows;
    this.#onChange();
    void this.#readDetails();
  }

  /** The number of automated sessions of now that have no row. */
  get hiddenCount(): number {
    return this.#showsAutomated ? 0 : this.#written().filter(isAutomated).length;
  }

  /** The rows of now, newest first. */
  rows(): BoardRow[] {
    const now = this.#now();
    return this.#recent().map((session) => {
      const { lastWords = "", tokens = null, cost = null } = this.#details.get(session.sessionId) ?? {};
      return { session, state: stateOf(session, now), lastWords, tokens, cost };
    });
  }

  /** The sessions that were written lately. */
  #written(): ListedSession[] {
    const since = this.#now() - SHOWN_MS;
    return [...this.#sessions.values()].filter(({ updatedAt }) => Date.parse(updatedAt) >= since);
  }

  #recent(): ListedSession[] {
    return this.#written()
      .filter((session) => this.#showsAutomated || !isAutomated(session))
      .sort((one, other) => Date.parse(other.updatedAt) - Date.parse(one.updatedAt))
      .slice(0, MAX_ROWS);
  }

  async #read(): Promise<boolean> {
    const since = new Date(this.#now() - SHOWN_MS).toISOString();
    const asked = { since, includeDrafts: true };
    try {
      const { sessions } = await this.#requests.list({ ...asked, automated: false, limit: MAX_ROWS });
      const automated = await this.#requests.list({ ...asked, automated: true, limit: MAX_AUTOMATED });
      this.#sessions = new Map([...sessions, ...automated.sessions].map((session) => [session.sessionId, session]));
    } catch (error) {
      this.#failed(error);
      return false;
    }
    this.problem = undefined;
    this.#onChange();
    void this.#readDetails();
    return true;
  }

  #changed(rows: readonly ListedSession[], removed: readonly string[]): void {
    rows.forEach((session) => this.#sessions.set(session.sessionId, session));
    for (const id of removed) {
      this.#sessions.delete(id);
      this.#details.delete(id);
    }
    this.#onChange();
    void this.#readDetails();
  }

  #failed(error: unknown): void {
    this.problem = (error as Error).message;
    this.#onChange();
  }

  /** Read the details of sessions that have changed, one after another. */
  async #readDetails(): Promise<void> {
    if (this.#isReadingDetails) {
      return; // the loop below finds later changes
    }
    this.#isReadingDetails = true;
    const isKnown = (session: ListedSession): boolean => this.#details.get(session.sessionId)?.version === versionOf(session);
    try {
      let next: ListedSession | undefined;
      while ((next = this.#recent().find((session) => !isKnown(session))) !== undefined) {
        this.#details.set(next.sessionId, await this.#detailsOf(next));
        this.#onChange();
      }
    } finally {
      this.#isReadingDetails = false;
    }
  }

  async #detailsOf(session: ListedSession): Promise<Details> {
    const { sessionId, leafId } = session;
    const version = versionOf(session);
    const empty = { version, lastWords: "", tokens: null, cost: null };
    if (leafId === null) {
      return empty;
    }
    try {
      const page = await this.#requests.tree({ sessionId, aroundId: leafId, limit: 1 });
      const { treeStats } = await this.#requests.stats({ sessionId });
      const { tokens, cost } = treeStats;
      return { version, lastWords: page.nodes[0]?.preview ?? "", tokens: tokens.total || null, cost: cost.total || null };
    } catch {
      return empty; // it was deleted meanwhile, or it is damaged: the row says what the list has
    }
  }
}

function versionOf({ leafId, sizeBytes }: ListedSession): string {
  return `${leafId} ${sizeBytes}`;
}

/** The state of the agent of a session at a time, in milliseconds since 1970. */
export function stateOf(
  { lifecycle, updatedAt, origin }: Pick<ListedSession, "lifecycle" | "updatedAt" | "origin">,
  now: number,
): BoardState {
  if (lifecycle === "error") {
    return "failed";
  }
  if (origin?.ended === true) {
    return "stopped"; // no process of the agent has the session
  }
  const quiet = now - Date.parse(updatedAt);
  if (lifecycle === "complete" || lifecycle === "empty") {
    return origin && hasEnded(origin, quiet) ? "stopped" : "waiting";
  }
  return lifecycle === "interrupted" && quiet < WORKING_MS ? "working" : "stopped";
}

/** Whether the agent of a session waits for no person: a program gave its prompts, or it has ended. */
function hasEnded({ path, gone, automated }: SessionOrigin, quiet: number): boolean {
  return gone || automated === true || (path?.includes("/subagents/") ?? false) || quiet >= WAITING_MS;
}
