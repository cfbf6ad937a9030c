// Requests that write are sent again when the connection ends before the answer. The daemon carries out a request with
// a `commandId` once, and stores an entry with an id once, however often they are sent: so each gets one here. What a
// daemon that is about to end refuses had no effect, and goes to the next daemon.
//
// A request is not sent a third time: it may be what daemons die of. Knows nothing of VS Code.
import { randomBytes, randomUUID } from "node:crypto";
import { methods, repeatable } from "../protocol.ts";
import type { DaemonState } from "./daemon.ts";
import { DaemonError } from "./errors.ts";
import type { Attachment } from "./loop.ts";

/** Milliseconds that a request without a response waits for the next connection. */
export const PATIENCE = 30_000;

/** What a request is sent over: `AttachLoop` is it. */
export interface Connections {
  readonly state: DaemonState;
  readonly attachment: Attachment | undefined;
  next(lost: Attachment, signal: AbortSignal): Promise<Attachment | undefined>;
}

/** The params of a request as they are sent, each time the same. */
export interface Named {
  readonly params: object;
  /** Whether it takes effect once, however often it is sent. */
  readonly isRepeatable: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** What only the message or answer of a provider has; bare, it has no place for the id of an entry. */
const OF_PROVIDERS = ["role", "choices", "candidates", "parts"];

/** Give a request what lets it be sent again, if it writes, and has nothing like it. */
export function named(method: string, params: object): Named {
  const given = params as Fields;
  if (method === methods.sessionAppend) {
    return namedAppend(given);
  }
  if (!(repeatable as readonly string[]).includes(method)) {
    return { params, isRepeatable: false };
  }
  // An `id` beside the session is that of the line, and makes the request repeatable instead.
  const hasName = isThere(given["commandId"]) || (isThere(given["sessionId"]) && isThere(given["id"]));
  return { params: hasName ? params : { ...params, commandId: randomUUID() }, isRepeatable: true };
}

/**
 * Send a request by `send`. When the connection ends before the answer, a request that may be repeated is sent once
 * more, over the next connection that is made within `patience`, and so is any request that is refused with `draining`.
 * Rejects with a `DaemonError`: `notAttached` when
 * there is no connection at first, `canceled` when `signal` gives up while it waits, and as `send` does.
 */
export async function ask<R>(
  connections: Connections,
  { params, isRepeatable }: Named,
  send: (attachment: Attachment, params: object) => Promise<R>,
  signal?: AbortSignal,
  patience = PATIENCE,
): Promise<R> {
  const first = connections.attachment;
  if (first === undefined) {
    throw new DaemonError("notAttached", `sessiond is not attached (${connections.state.kind}).`);
  }
  let refused: unknown;
  try {
    return await send(first, params);
  } catch (error) {
    if (isDraining(error)) {
      refused = error;
    } else if (!isRepeatable || !isLoss(error)) {
      throw error;
    }
  }
  const late = AbortSignal.timeout(patience);
  const second = await connections.next(first, signal === undefined ? late : AbortSignal.any([signal, late]));
  if (signal?.aborted) {
    throw new DaemonError("canceled", "It was given up while the daemon was away.");
  }
  if (second === undefined) {
    throw refused ?? new DaemonError("disconnected", `The daemon ended before it answered, and is not back. ${LOOK}`);
  }
  try {
    return await send(second, params);
  } catch (error) {
    throw isLoss(error)
      ? new DaemonError("disconnected", `The connection to the daemon ended twice before the answer. ${LOOK}`)
      : error;
  }
}

const LOOK = "Look whether it was done before you do it again.";

function isLoss(error: unknown): boolean {
  return error instanceof DaemonError && error.kind === "disconnected";
}

function isDraining(error: unknown): boolean {
  return error instanceof DaemonError && error.kind === "draining";
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function namedAppend(params: Fields): Named {
  const entries = (params["entries"] as readonly Fields[]).map((entry) =>
    isThere(entry["id"]) || isBare(params, entry) ? entry : { ...entry, id: randomBytes(8).toString("hex") },
  );
  return { params: { ...params, entries }, isRepeatable: !entries.some((entry) => isBare(params, entry)) };
}

function isBare({ format }: Fields, entry: Fields): boolean {
  return format !== undefined && format !== "agent" && OF_PROVIDERS.some((name) => name in entry);
}
