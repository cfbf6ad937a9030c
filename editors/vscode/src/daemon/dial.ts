// Connects to Unix sockets. Independent of VS Code and of the protocol.
import * as net from "node:net";
import { unsafe } from "./endpoint.ts";

/** Milliseconds. While the listener's queue is full, a connection waits. */
const PATIENCE = 5000;

/** No process listens at any of the sockets: the daemon does not run. */
export class NobodyListens extends Error {}

/** A process listens but does not accept the connection, or the socket belongs to another user. */
export class NotTaken extends Error {}

export interface Dialled {
  socket: net.Socket;
  path: string;
}

/** Connect to the first socket that accepts. Rejects with `NobodyListens` or `NotTaken`. */
export async function dial(paths: readonly string[], signal: AbortSignal): Promise<Dialled> {
  let reason = "no socket is known";
  for (const path of paths) {
    const danger = unsafe(path);
    if (danger !== undefined) {
      throw new NotTaken(danger);
    }
    try {
      return { socket: await knock(path, signal), path };
    } catch (error) {
      if (!isNotListening(error)) {
        throw new NotTaken((error as Error).message);
      }
      reason = `no daemon listens at ${path}`;
    }
  }
  throw new NobodyListens(reason);
}

function isNotListening(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ECONNREFUSED"].includes((error as NodeJS.ErrnoException).code ?? "");
}

function knock(path: string, signal: AbortSignal): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(path);
    const late = setTimeout(() => socket.destroy(new Error(`${path} did not take the connection`)), PATIENCE);
    const givenUp = () => socket.destroy(new Error("given up"));
    signal.addEventListener("abort", givenUp, { once: true });
    if (signal.aborted) {
      givenUp();
    }
    const settled = () => {
      clearTimeout(late);
      signal.removeEventListener("abort", givenUp);
    };
    // Never removed: an error event without a listener would end the process. Readers see the end of the socket.
    socket.on("error", (error) => {
      settled();
      reject(error);
    });
    socket.once("connect", () => {
      settled();
      resolve(socket);
    });
  });
}
