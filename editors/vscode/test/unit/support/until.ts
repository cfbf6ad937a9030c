// Waits for a condition in tests, with a timeout.
const TIMEOUT_MS = 60_000;

/** Wait until `condition` holds. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + TIMEOUT_MS;
  while (!(await condition())) {
    if (Date.now() > end) {
      throw new Error(`Timeout: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
