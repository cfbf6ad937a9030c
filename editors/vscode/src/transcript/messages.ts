// What the transcript's document may say to us. Knows nothing of VS Code.
//
// The document is ours, but it shows what others wrote: nothing of it is believed beyond its shape.

export type Act = "open" | "fork" | "label";

/** `ready`: send the rows from the first one on. `act`: the reader pressed a button of an entry. */
export type Said = { kind: "ready" } | { kind: "act"; act: Act; entryId: string };

/** What the document keeps over a reload of the window; the rest of it is the document's own. */
export interface Kept {
  sessionId: string;
}

const ACTS: ReadonlySet<unknown> = new Set<Act>(["open", "fork", "label"]);
const MOST_OF_AN_ENTRY_ID = 64;
const MOST_OF_A_SESSION_ID = 128;

/** A message, or undefined when it is none that the document sends. */
export function said(message: unknown): Said | undefined {
  const { kind, act, entryId } = fields(message);
  if (kind === "ready") {
    return { kind };
  }
  if (kind === "act" && ACTS.has(act) && isId(entryId, MOST_OF_AN_ENTRY_ID)) {
    return { kind, act: act as Act, entryId };
  }
  return undefined;
}

/** What was kept, or undefined when nothing was, or nothing that we understand. */
export function kept(state: unknown): Kept | undefined {
  const { sessionId } = fields(state);
  return isId(sessionId, MOST_OF_A_SESSION_ID) ? { sessionId } : undefined;
}

/** The session, and perhaps the entry, that a command was given: by a view, a key binding or another extension. */
export function chosen(argument: unknown): { sessionId: string; entryId?: string } | undefined {
  const { sessionId, entryId } = fields(argument);
  if (!isId(sessionId, MOST_OF_A_SESSION_ID)) {
    return undefined;
  }
  return isId(entryId, MOST_OF_AN_ENTRY_ID) ? { sessionId, entryId } : { sessionId };
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isId(value: unknown, most: number): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= most;
}
