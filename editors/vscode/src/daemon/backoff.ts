// How long to pause between looks for the daemon.
const FIRST = 200;
const LONGEST = 2000;

/** Milliseconds, doubled each time up to a bound. */
export function* pauses(): Generator<number, never> {
  for (let pause = FIRST; ; pause = Math.min(pause * 2, LONGEST)) {
    yield pause;
  }
}
