// The pauses between attempts to connect, and the limit of restarts after crashes.

const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 2000;

/** Pauses in milliseconds. Each is twice the previous one, up to a maximum. */
export function* pauses(): Generator<number, never> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    yield pause;
  }
}

const MAX_CRASHES = 3;
const CRASH_WINDOW_MS = 60_000;

/** Counts crashes of the daemon. A daemon that crashes repeatedly is not started again. */
export class CrashCounter {
  #times: number[] = [];

  /** Record a crash at a time in milliseconds. Returns whether the daemon may be started again. */
  record(now: number): boolean {
    this.#times = [...this.#times.filter((time) => now - time < CRASH_WINDOW_MS), now];
    return this.#times.length < MAX_CRASHES;
  }

  reset(): void {
    this.#times = [];
  }
}
