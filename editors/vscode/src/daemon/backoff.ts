// How long to wait before looking for the daemon again, and how often to start one that dies.

/** Milliseconds: the first pause, and the longest. */
const FIRST = 200;
const LONGEST = 2000;

/** Milliseconds, doubled each time up to a bound. */
export function* pauses(): Generator<number, never> {
  for (let pause = FIRST; ; pause = Math.min(pause * 2, LONGEST)) {
    yield pause;
  }
}

const OFTEN = 3;
const WITHIN = 60_000;

/** Deaths of the daemon: one that dies again and again is not started for ever. */
export class Deaths {
  #times: number[] = [];

  /** Note one at a time in milliseconds; whether it may be started again. */
  note(now: number): boolean {
    this.#times = [...this.#times.filter((time) => now - time < WITHIN), now];
    return this.#times.length < OFTEN;
  }

  forget(): void {
    this.#times = [];
  }
}
