// Sends requests, and sends those that write again if the connection ends before the response. The daemon executes a
// request with a `commandId` once and stores an entry with an id once, however often it receives them. This module adds
// these ids. A request that a draining daemon refuses had no effect and is sent to the next daemon.
//
// A request whose response was lost twice is not sent again, because it may be the cause of crashes. Independent of VS
// Code.
import { randomBytes, randomUUID } from "node:crypto";
import { methods, repeatable } from "../protocol.ts";
import type { DaemonState } from "./daemon.ts";
import { DaemonError } from "./errors.ts";
import type { Attachment } from "./loop.ts";

/** How long a request without a response waits for the next connection. */
export const RECONNECT_TIMEOUT_MS = 30_000;

/** The connections over which requests are sent. `AttachLoop` implements it. */
export interface Connections {
  readonly state: DaemonState;
  readonly attachment: Attachment | undefined;
  next(lost: Attachment, signal: AbortSignal): Promise<Attachment | undefined>;
}

/** A request whose params are the same each time it is sent. */
export interface PreparedRequest {
  readonly params: object;
  /** Whether it takes effect once if it is sent several times. */
  readonly isRepeatable: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** Fields that only messages and responses of a provider have, and no entry with a `message`. */
const PROVIDER_FIELDS = ["role", "choices", "candidates", "parts"];

/** The methods that the `id` of their line makes repeatable, too. */
const WITH_ID_OF_LINE: readonly string[] = [methods.stateUpdate, methods.stateBeginTask];

/** Add the id that makes a request repeatable, if the request writes and has no such id. */
export function prepare(method: string, params: object): PreparedRequest {
  const given = params as Fields;
  if (method === methods.sessionAppend) {
    return prepareAppend(given);
  }
  if (!(repeatable as readonly string[]).includes(method)) {
    return { params, isRepeatable: false };
  }
  const hasId = isPresent(given["commandId"]) || (WITH_ID_OF_LINE.includes(method) && isPresent(given["id"]));
  return { params: hasId ? params : { ...params, commandId: randomUUID() }, isRepeatable: true };
}

/**
 * Send a request with `send`. A repeatable request is sent once more if the connection ends before the response, over
 * the next connection within `timeoutMs`. Any request is sent to the next daemon as often as one refuses it with
 * `draining`. Rejects with a `DaemonError`: `notAttached` if there is no connection at first, `canceled` if `signal` cancels the wait, and the
 * errors of `send`.
 */
export async function sendWithRetry<R>(
  connections: Connections,
  { params, isRepeatable }: PreparedRequest,
  send: (attachment: Attachment, params: object) => Promise<R>,
  signal?: AbortSignal,
  timeoutMs = RECONNECT_TIMEOUT_MS,
): Promise<R> {
  const first = connections.attachment;
  if (first === undefined) {
    throw new DaemonError("notAttached", `sessiond is not attached (${connections.state.kind}).`);
  }
  let attachment = first;
  let isLost = false;
  let waiting: AbortSignal | undefined;
  for (;;) {
    let failure: unknown;
    try {
      return await send(attachment, params);
    } catch (error) {
      failure = error;
    }
    if (isLoss(failure) && isLost) {
      throw new DaemonError("disconnected", `The connection to the daemon ended twice before the response. ${CHECK_HINT}`);
    }
    if (!isDraining(failure) && !(isRepeatable && isLoss(failure))) {
      throw failure;
    }
    isLost ||= isLoss(failure);
    waiting ??= AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]);
    const next = await connections.next(attachment, waiting);
    if (signal?.aborted) {
      throw new DaemonError("canceled", "The request was canceled while the daemon was not attached.");
    }
    if (next === undefined) {
      throw isLost
        ? new DaemonError("disconnected", `The daemon ended before it responded, and did not come back. ${CHECK_HINT}`)
        : failure;
    }
    attachment = next;
  }
}

const CHECK_HINT = "Check whether the change was made before you repeat it.";

function isLoss(error: unknown): boolean {
  return error instanceof DaemonError && error.kind === "disconnected";
}

function isDraining(error: unknown): boolean {
  return error instanceof DaemonError && error.kind === "draining";
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function prepareAppend(params: Fields): PreparedRequest {
  const given = params["entries"] as readonly Fields[] | undefined;
  if (given === undefined) {
    return { params, isRepeatable: false };
  }
  const entries = given.map((entry) =>
    isPresent(entry["id"]) || !canHaveId(params, entry) ? entry : { ...entry, id: randomBytes(8).toString("hex") },
  );
  return { params: { ...params, entries }, isRepeatable: given.length > 0 && given.every((entry) => canHaveId(params, entry)) };
}

/** Whether an item has a field for the id of an entry. The `id` of a provider's message or response is another one. */
function canHaveId({ format }: Fields, item: Fields): boolean {
  const isOurs = format === undefined || format === "agent";
  return isOurs || ("message" in item && !PROVIDER_FIELDS.some((name) => name in item));
}
