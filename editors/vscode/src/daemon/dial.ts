// Knock at unix sockets. Knows nothing of VS Code, nor of what is said once somebody answers.
import * as net from "node:net";
import { unsafe } from "./endpoint.ts";

/** Milliseconds. A full queue of the listener lets a connect wait. */
const PATIENCE = 5000;

/** Nobody answers, or nobody who may be talked to. */
export class NobodyThere extends Error {}

/** The first socket at which somebody takes the connection. Rejects with `NobodyThere`. */
export async function dial(paths: readonly string[]): Promise<{ socket: net.Socket; path: string }> {
  let reason = "there is no socket to knock at";
  for (const path of paths) {
    const danger = unsafe(path);
    if (danger !== undefined) {
      reason = danger;
      continue;
    }
    try {
      return { socket: await knock(path), path };
    } catch (error) {
      reason = (error as Error).message;
    }
  }
  throw new NobodyThere(reason);
}

function knock(path: string): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(path);
    const late = setTimeout(() => socket.destroy(new Error(`nobody took the connection at ${path}`)), PATIENCE);
    socket.once("error", reject);
    socket.once("close", () => clearTimeout(late));
    socket.once("connect", () => {
      clearTimeout(late);
      socket.off("error", reject);
      socket.on("error", () => undefined); // from now on the end of the connection says it
      resolve(socket);
    });
  });
}
