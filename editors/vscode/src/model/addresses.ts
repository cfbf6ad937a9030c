// The URIs of documents that the daemon renders: an entry, the path to it, its context, a comparison. Ids are
// percent-encoded.

export const SCHEME = "sessiond-entry";

export type Address =
  | { readonly kind: "entry"; readonly sessionId: string; readonly entryId: string }
  | { readonly kind: "path"; readonly sessionId: string; readonly entryId: string }
  | { readonly kind: "context"; readonly sessionId: string; readonly entryId: string }
  | { readonly kind: "compare"; readonly sessionId: string; readonly leftId: string; readonly rightId: string };

/** The path of the URI. The tab shows its last part. */
export function pathOf(address: Address): string {
  const ids = address.kind === "compare" ? [address.leftId, address.rightId] : [address.entryId];
  return `/${[address.kind, address.sessionId, ...ids].map(part).join("/")}.md`;
}

/** The address of a path; undefined if it is not valid. */
export function addressOf(path: string): Address | undefined {
  const parts = path.replace(/^\//, "").replace(/\.md$/, "").split("/");
  let kind: string | undefined, sessionId: string | undefined, first: string | undefined, second: string | undefined;
  try {
    [kind, sessionId, first, second] = parts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
  if (!sessionId || !first) {
    return undefined;
  }
  if ((kind === "entry" || kind === "path" || kind === "context") && parts.length === 3) {
    return { kind, sessionId, entryId: first };
  }
  return kind === "compare" && parts.length === 4 && second
    ? { kind, sessionId, leftId: first, rightId: second }
    : undefined;
}

/** An id as one part of a path, without separators and dots. */
function part(id: string): string {
  return encodeURIComponent(id).replace(/\./g, "%2E");
}
