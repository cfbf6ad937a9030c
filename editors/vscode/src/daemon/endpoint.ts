// The sockets at which the daemon may be found, and which of them must not be used. Knows nothing of VS Code.
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import type { Places } from "./places.ts";

/** What a daemon tells of itself. It proves nothing: one that was killed leaves it behind. */
export interface Endpoint {
  socket: string;
  pid?: number;
}

/** What the last daemon told, undefined when that is missing or unreadable. */
export function readEndpoint(file: string): Endpoint | undefined {
  try {
    const told: unknown = JSON.parse(fs.readFileSync(file, "utf8"));
    const { socket, pid } = (told ?? {}) as { socket?: unknown; pid?: unknown };
    if (typeof socket !== "string") {
      return undefined;
    }
    return typeof pid === "number" ? { socket, pid } : { socket };
  } catch {
    return undefined;
  }
}

/** The sockets to knock at, the likeliest first. `chosen` is the setting, "" for none. */
export function sockets(chosen: string, where: Places): string[] {
  if (chosen) {
    return [chosen.replace(/^~(?=\/)/, os.homedir())];
  }
  const told = readEndpoint(where.endpoint)?.socket;
  return told === undefined || told === where.socket ? [where.socket] : [told, where.socket];
}

/** Why a socket must not be used, if so: who answers at somebody else's would be given all that a person says. */
export function unsafe(socket: string): string | undefined {
  if (!path.isAbsolute(socket)) {
    return `${socket} is no absolute path`;
  }
  const uid = process.geteuid?.();
  const found = stat(socket);
  if (found !== undefined && found.uid !== uid) {
    return `${socket} belongs to user id ${found.uid}, not to you`;
  }
  const folder = stat(path.dirname(socket));
  if (folder !== undefined && (folder.uid !== uid || (folder.mode & 0o22) !== 0)) {
    return `others may write to the folder of ${socket}`;
  }
  return undefined;
}

function stat(file: string): fs.Stats | undefined {
  try {
    return fs.statSync(file);
  } catch {
    return undefined;
  }
}
