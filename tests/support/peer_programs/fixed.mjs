// Ids and a clock that are the same in every run, so that what the peers write can be compared and committed.

/** Let the clock of this process start at `start` and go on by `step` milliseconds with each look at it. */
export function stopTheClock(start = "2026-11-02T09:00:00.000Z", step = 1000) {
  let now = Date.parse(start) - step;
  const tick = () => (now += step);
  globalThis.Date = class extends Date {
    constructor(...given) {
      given.length === 0 ? super(tick()) : super(...given);
    }
    static now() {
      return tick();
    }
  };
}

/** UUIDs from a counter, scattered so that they look like ids; the peers cut theirs from either end of one. */
export function countingIds(count) {
  return () => {
    const digits = (Math.imul(count++, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0");
    return `${digits}-0000-4000-8000-0000${digits}`;
  };
}
