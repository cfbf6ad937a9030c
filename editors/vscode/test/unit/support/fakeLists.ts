// The simplest implementation of the daemon's lists and watches: pages of two, and positions.
import type { ListRequests } from "../../../src/model/sessions.ts";
import type {
  ListedSession,
  ListParams,
  ListResult,
  SessionsChangedNote,
  UnwatchParams,
  WatchParams,
  WatchResult,
} from "../../../src/protocol.ts";

const PAGE_SIZE = 2;

/** A row that was updated on a day of January. */
export function listed(sessionId: string, cwd: string, day: number, more: Partial<ListedSession> = {}): ListedSession {
  return {
    sessionId,
    path: `/data/${sessionId}.jsonl`,
    cwd,
    title: null,
    tags: [],
    createdAt: "2026-01-01T00:00:00.000Z",
    updatedAt: `2026-01-${String(day).padStart(2, "0")}T00:00:00.000Z`,
    messageCount: 2,
    entryCount: 2,
    firstPrompt: `About ${sessionId}`,
    leafId: "e2",
    lastSeq: 2,
    sizeBytes: 100,
    parentSessionId: null,
    parentPath: null,
    origin: null,
    isDraft: false,
    readOnly: false,
    ephemeral: false,
    problemCount: 0,
    writeBlock: null,
    stale: null,
    logId: null,
    lifecycle: "complete",
    model: null,
    provisional: false,
    ...more,
  };
}

/** A row whose prompts a program gave. */
export function automated(sessionId: string, cwd: string, day: number): ListedSession {
  const origin = { agent: "codex", sessionId, path: null, version: null, gone: false, archived: false, automated: true, ended: false };
  return listed(sessionId, cwd, day, { origin });
}

/** Delays responses until they are released, in any order. */
export class Gate {
  readonly #waiting: (() => void)[] = [];

  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Let the response of the request with this number through, counted from 0. */
  release(number: number): void {
    this.#waiting[number]?.();
  }
}

export class FakeLists implements ListRequests {
  readonly sessions: ListedSession[];
  readonly listed: ListParams[] = [];
  /** The requests for a number only. */
  readonly counted: ListParams[] = [];
  readonly watched: WatchParams[] = [];
  readonly unwatched: string[] = [];
  /** Delays the responses of `list`. */
  gate: Gate | undefined;
  /** Every request fails with this. */
  error: Error | undefined;
  epoch = "epoch-1";
  position = 0;

  constructor(...sessions: ListedSession[]) {
    this.sessions = sessions;
  }

  /** The notification about changes, at the next position. */
  note(watchId: string, changed: ListedSession[], removed: string[] = []): SessionsChangedNote {
    this.position += 1;
    return { watchId, epoch: this.epoch, position: this.position, changed, removed, replay: false };
  }

  watch(params: WatchParams): Promise<WatchResult> {
    if (this.error !== undefined) {
      return Promise.reject(this.error);
    }
    this.watched.push(params);
    const replays = params.after?.epoch === this.epoch;
    return Promise.resolve({
      watchId: `w${this.watched.length}`,
      mode: replays ? "replay" : "snapshot",
      epoch: this.epoch,
      position: this.position,
      reason: replays ? null : "noPosition",
      message: null,
    });
  }

  unwatch({ watchId }: UnwatchParams): Promise<{ wasWatching: boolean }> {
    this.unwatched.push(watchId);
    return Promise.resolve({ wasWatching: true });
  }

  async list(params: ListParams): Promise<ListResult> {
    if (this.error !== undefined) {
      throw this.error;
    }
    const counts = params.withTotal === true;
    (counts ? this.counted : this.listed).push(params);
    const found = this.sessions
      .filter((each) => (params.automated ?? null) === null || Boolean(each.origin?.automated) === params.automated)
      .filter((each) => !params.cwd || each.cwd === params.cwd)
      .filter((each) => !params.project || `${each.cwd}/`.startsWith(`${params.project}/`))
      .filter((each) => !params.query || each.firstPrompt?.includes(params.query))
      .sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
    const start = Number(params.cursor ?? 0);
    const end = start + PAGE_SIZE;
    const result: ListResult = {
      sessions: found.slice(start, end),
      totalCount: counts ? found.length : null,
      nextCursor: end < found.length ? String(end) : null,
      previousCursor: null,
      problems: [],
      epoch: this.epoch,
      position: this.position,
      removed: [],
    };
    if (!counts) {
      await this.gate?.wait();
    }
    return result;
  }
}
