// Converts the text that the user types into a query for the full-text search.

/** The words so far; the last one may not be whole yet. Empty when there is nothing to look for. */
export function questionOf(typed: string): string {
  const words = typed.trim().slice(0, 900);
  if (!/[\p{L}\p{N}]/u.test(words)) {
    return "";
  }
  const quoted = (words.match(/"/g) ?? []).length % 2 === 1;
  if (quoted) {
    return `${words}"`;
  }
  return /[\p{L}\p{N}]$/u.test(typed) ? `${words}*` : words;
}
