// Converts the text that the user types into a query for the full-text search.

/** The query for what is typed so far. The last word matches as a prefix. Empty if there is no word yet. */
export function searchQuery(typed: string): string {
  const words = typed.trim().slice(0, 900);
  if (!/[\p{L}\p{N}]/u.test(words)) {
    return "";
  }
  const isQuoteOpen = (words.match(/"/g) ?? []).length % 2 === 1;
  if (isQuoteOpen) {
    return `${words}"`;
  }
  return /[\p{L}\p{N}]$/u.test(typed) ? `${words}*` : words;
}
