// The sockets at which the daemon may listen, and the check that a socket is safe. Independent of VS Code.
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import type { DaemonPaths } from "./paths.ts";

/** The endpoint file of a daemon. A daemon that was killed leaves it behind. */
export interface Endpoint {
  socket: string;
  pid?: number;
  /** Clock ticks after boot; with `pid` it identifies one process. Null on systems without /proc. */
  startTime?: number | null;
}

/** Read the endpoint file of the last daemon; undefined if it is missing or unreadable, or names no socket. */
export function readEndpoint(file: string): Endpoint | undefined {
  try {
    const content: unknown = JSON.parse(fs.readFileSync(file, "utf8"));
    const { socket, pid, startTime } = (content ?? {}) as Record<keyof Endpoint, unknown>;
    if (typeof socket !== "string" || !path.isAbsolute(socket)) {
      return undefined;
    }
    return {
      socket,
      ...(typeof pid === "number" ? { pid } : {}),
      ...(typeof startTime === "number" ? { startTime } : {}),
    };
  } catch {
    return undefined;
  }
}

/** Whether the process that wrote the endpoint file runs, as far as this system can tell. */
export function isAlive({ pid, startTime }: Endpoint): boolean {
  if (pid === undefined) {
    return false;
  }
  if (typeof startTime === "number") {
    const [state, ...fields] = statOf(pid);
    // A zombie process is still listed, in containers indefinitely.
    return state !== undefined && state !== "Z" && Number(fields[18]) === startTime;
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The fields of /proc/PID/stat from the third on; none when there is no such process. */
function statOf(pid: number): string[] {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** The sockets to connect to, the most likely first. `chosen` is the setting, "" for none. */
export function sockets(chosen: string, paths: DaemonPaths): string[] {
  if (chosen) {
    return [chosen.replace(/^~(?=\/)/, os.homedir())];
  }
  const published = readEndpoint(paths.endpoint)?.socket;
  return published === undefined || published === paths.socket ? [paths.socket] : [published, paths.socket];
}

/** Why a socket must not be used, or undefined. A socket of another user could receive the text of sessions. */
export function unsafeReason(socket: string): string | undefined {
  if (!path.isAbsolute(socket)) {
    return `${socket} is not an absolute path`;
  }
  const uid = process.geteuid?.();
  const found = stat(socket);
  if (found !== undefined && found.uid !== uid) {
    return `${socket} belongs to user id ${found.uid}, not to you`;
  }
  const folder = stat(path.dirname(socket));
  if (folder !== undefined && (folder.uid !== uid || (folder.mode & 0o22) !== 0)) {
    return `other users can write to the folder of ${socket}`;
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
