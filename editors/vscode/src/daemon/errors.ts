// The errors of requests. Independent of VS Code.
import { type ErrorDetails, type ErrorKind, errorCodes } from "../protocol.ts";

/**
 * The kinds of the daemon, and two of the connection. `notAttached`: the request was not sent. `disconnected`: the
 * connection ended before the response, so the outcome is unknown. A request that writes has been sent again before,
 * if the daemon came back in time.
 */
export type DaemonErrorKind = ErrorKind | "notAttached" | "disconnected";

/** A request that failed. Match `kind`, never the message. */
export class DaemonError extends Error {
  override readonly name = "DaemonError";
  readonly kind: DaemonErrorKind;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(kind: DaemonErrorKind, message: string, data: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.kind = kind;
    this.data = data;
  }

  /** The details of an error of this kind; undefined for another kind, or if the daemon sent none. */
  details<K extends ErrorKind>(kind: K): Partial<NonNullable<ErrorDetails[K]>> | undefined {
    const { details } = this.data;
    return this.kind === kind && typeof details === "object" && details !== null
      ? (details as Partial<NonNullable<ErrorDetails[K]>>)
      : undefined;
  }
}

/** Codes of vscode-jsonrpc itself: write and read errors, requests in flight at the end of the connection, no connection. */
const CONNECTION_ENDED = new Set([-32099, -32098, -32097, -32096]);

/** Convert the rejection of a request into a `DaemonError`. */
export function daemonError(thrown: unknown): DaemonError {
  if (thrown instanceof DaemonError) {
    return thrown;
  }
  const { code, message, data } = (thrown ?? {}) as { code?: unknown; message?: unknown; data?: unknown };
  const text = typeof message === "string" ? message : String(thrown);
  if (typeof code !== "number" || CONNECTION_ENDED.has(code)) {
    return new DaemonError("disconnected", `The connection to the daemon has ended: ${text}`);
  }
  const details = typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
  return new DaemonError(kindOf(details["kind"], code), text, details);
}

function kindOf(kind: unknown, code: number): ErrorKind {
  if (typeof kind === "string" && Object.hasOwn(errorCodes, kind)) {
    return kind as ErrorKind;
  }
  // LSP's own codes of canceled requests.
  if (code === -32801 || code === -32802) {
    return "canceled";
  }
  const known = Object.entries(errorCodes).find(([, number]) => number === code);
  return known ? (known[0] as ErrorKind) : "internal";
}
