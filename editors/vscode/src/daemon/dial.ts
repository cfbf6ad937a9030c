// Connects to Unix sockets. Independent of VS Code and of the protocol.
import * as net from "node:net";
import { unsafeReason } from "./endpoint.ts";

/** Milliseconds. While the listener's queue is full, a connection waits. */
const CONNECT_TIMEOUT_MS = 5000;

/** No process listens at any of the sockets: the daemon does not run. */
export class NoListener extends Error {}

/** A process listens but does not accept the connection, or the socket belongs to another user. */
export class ConnectionRefused extends Error {}

export interface Dialed {
  socket: net.Socket;
  path: string;
}

/** Connect to the first socket that accepts. Rejects with `NoListener` or `ConnectionRefused`. */
export async function dial(paths: readonly string[], signal: AbortSignal): Promise<Dialed> {
  let problem = "no socket is known";
  for (const path of paths) {
    const reason = unsafeReason(path);
    if (reason !== undefined) {
      throw new ConnectionRefused(reason);
    }
    try {
      return { socket: await connect(path, signal), path };
    } catch (error) {
      if (!isNotListening(error)) {
        throw new ConnectionRefused((error as Error).message);
      }
      problem = `no daemon listens at ${path}`;
    }
  }
  throw new NoListener(problem);
}

function isNotListening(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ECONNREFUSED"].includes((error as NodeJS.ErrnoException).code ?? "");
}

function connect(path: string, signal: AbortSignal): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(path);
    const timeout = setTimeout(() => socket.destroy(new Error(`${path} did not accept the connection`)), CONNECT_TIMEOUT_MS);
    const cancel = () => socket.destroy(new Error("canceled"));
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) {
      cancel();
    }
    const cleanUp = () => {
      clearTimeout(timeout);
      signal.removeEventListener("abort", cancel);
    };
    // Never removed: an error event without a listener would end the process. Readers see the end of the socket.
    socket.on("error", (error) => {
      cleanUp();
      reject(error);
    });
    socket.once("connect", () => {
      cleanUp();
      resolve(socket);
    });
  });
}
