// Recognizes session files by their first lines. Independent of VS Code.

/** In characters. The header of a session is short. */
const MAX_HEADER_LENGTH = 10_000;

/** Whether a file with these first two lines is a session. oh-my-pi writes a title before the header. */
export function isSession(first: string, second: string): boolean {
  return isHeader(first) || (/^\{"type": ?"title"/.test(first) && isHeader(second));
}

function isHeader(line: string): boolean {
  return line.startsWith("{") && /"type"\s*:\s*"session"/.test(line.slice(0, MAX_HEADER_LENGTH));
}
