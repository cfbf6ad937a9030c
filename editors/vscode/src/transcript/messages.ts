// The messages that the transcript's document sends. Independent of VS Code.
//
// The document contains text of transcripts, so its messages are untrusted: each one is validated.

export type Act = "open" | "fork" | "label";

/** `ready`: send the rows from the first one on. `act`: the user pressed a button of an entry. `at`: the user scrolled to
 * an entry or clicked it. */
export type DocumentMessage =
  | { kind: "ready" }
  | { kind: "act"; act: Act; entryId: string }
  | { kind: "at"; entryId: string };

/** The part of the document's saved state that the extension reads after a reload of the window. */
export interface PanelState {
  sessionId: string;
}

const ACTS: ReadonlySet<unknown> = new Set<Act>(["open", "fork", "label"]);
const MAX_ENTRY_ID_LENGTH = 64;
const MAX_SESSION_ID_LENGTH = 128;

/** The validated message, or undefined if it is not valid. */
export function parseMessage(message: unknown): DocumentMessage | undefined {
  const { kind, act, entryId } = fields(message);
  if (kind === "ready") {
    return { kind };
  }
  if (kind === "act" && ACTS.has(act) && isId(entryId, MAX_ENTRY_ID_LENGTH)) {
    return { kind, act: act as Act, entryId };
  }
  if (kind === "at" && isId(entryId, MAX_ENTRY_ID_LENGTH)) {
    return { kind, entryId };
  }
  return undefined;
}

/** The validated state, or undefined if there is none or it is not valid. */
export function parseState(state: unknown): PanelState | undefined {
  const { sessionId } = fields(state);
  return isId(sessionId, MAX_SESSION_ID_LENGTH) ? { sessionId } : undefined;
}

/** The target of the command that shows a transcript. */
export interface TranscriptTarget {
  readonly sessionId: string;
  readonly entryId?: string;
  /** Whether the keyboard focus stays where it is. */
  readonly preserveFocus: boolean;
}

/** The target in the argument of a command, from a view, a key binding or another extension. */
export function parseTarget(argument: unknown): TranscriptTarget | undefined {
  const { sessionId, entryId, preserveFocus } = fields(argument);
  if (!isId(sessionId, MAX_SESSION_ID_LENGTH)) {
    return undefined;
  }
  const session = { sessionId, preserveFocus: preserveFocus === true };
  return isId(entryId, MAX_ENTRY_ID_LENGTH) ? { ...session, entryId } : session;
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isId(value: unknown, maxLength: number): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= maxLength;
}
