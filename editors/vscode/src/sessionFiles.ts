// Whether a text is a session, by its beginning. Knows nothing of VS Code.

/** Characters that are looked at: the header of a session is short. */
const LOOKED_AT = 10_000;

/** Whether a file whose first two lines are these is a session: oh-my-pi writes a title before the header. */
export function isSession(first: string, second: string): boolean {
  return isHeader(first) || (/^\{"type": ?"title"/.test(first) && isHeader(second));
}

function isHeader(line: string): boolean {
  return line.startsWith("{") && /"type"\s*:\s*"session"/.test(line.slice(0, LOOKED_AT));
}
