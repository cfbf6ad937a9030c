// What the transcript's document may say to us. Knows nothing of VS Code.
//
// The document is ours, but it shows what others wrote: nothing of it is believed beyond its shape.

export type Act = "open" | "fork" | "label";

/** `ready`: send the rows from the first one on. `act`: the reader pressed a button of an entry. */
export type DocumentMessage = { kind: "ready" } | { kind: "act"; act: Act; entryId: string };

/** What the document keeps over a reload of the window; the rest of it is the document's own. */
export interface PanelState {
  sessionId: string;
}

const ACTS: ReadonlySet<unknown> = new Set<Act>(["open", "fork", "label"]);
const MAX_ENTRY_ID_LENGTH = 64;
const MAX_SESSION_ID_LENGTH = 128;

/** A message, or undefined when it is none that the document sends. */
export function parseMessage(message: unknown): DocumentMessage | undefined {
  const { kind, act, entryId } = fields(message);
  if (kind === "ready") {
    return { kind };
  }
  if (kind === "act" && ACTS.has(act) && isId(entryId, MAX_ENTRY_ID_LENGTH)) {
    return { kind, act: act as Act, entryId };
  }
  return undefined;
}

/** What was kept, or undefined when nothing was, or nothing that we understand. */
export function parseState(state: unknown): PanelState | undefined {
  const { sessionId } = fields(state);
  return isId(sessionId, MAX_SESSION_ID_LENGTH) ? { sessionId } : undefined;
}

/** The session, and perhaps the entry, that a command was given: by a view, a key binding or another extension. */
export function chosen(argument: unknown): { sessionId: string; entryId?: string } | undefined {
  const { sessionId, entryId } = fields(argument);
  if (!isId(sessionId, MAX_SESSION_ID_LENGTH)) {
    return undefined;
  }
  return isId(entryId, MAX_ENTRY_ID_LENGTH) ? { sessionId, entryId } : { sessionId };
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isId(value: unknown, maxLength: number): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= maxLength;
}
