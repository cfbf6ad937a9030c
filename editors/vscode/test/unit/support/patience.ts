// Waiting in tests: for a condition, with a bound.
const BOUND = 60_000;

/** Until `condition` holds. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + BOUND;
  while (!(await condition())) {
    if (Date.now() > end) {
      throw new Error(`It did not come to this: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
