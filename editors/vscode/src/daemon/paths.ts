// The paths of one user's sessiond, as the daemon computes them in `paths.py`; a test compares both. Creates no file.
// Independent of VS Code.
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

/** In bytes. A socket with a longer path is placed in another folder. */
const SOCKET_PATH_LIMIT = 100;

export interface DaemonPaths {
  /** The file that describes the running daemon. */
  endpoint: string;
  /** The default socket. */
  socket: string;
  /** The log file. */
  log: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** `home` is the setting, "" for none. Without it, SESSIOND_HOME applies, and then the rules of the platform. */
export function daemonPaths(home: string, environment: Environment): DaemonPaths {
  const chosen = home || environment["SESSIOND_HOME"] || "";
  const user = environment["HOME"] ?? os.homedir();
  let state: string;
  let runtime: string;
  if (chosen) {
    const root = path.resolve(chosen.replace(/^~(?=\/|$)/, user));
    state = path.join(root, "state");
    runtime = shortEnough(path.join(root, "run"), state, environment);
  } else {
    state =
      process.platform === "darwin"
        ? path.join(os.homedir(), "Library/Application Support/sessiond")
        : xdg(environment, "XDG_STATE_HOME", path.join(user, ".local/state"));
    runtime = runtimeOf(state, environment);
  }
  return {
    endpoint: path.join(state, "endpoint.json"),
    socket: path.join(runtime, "sessiond.sock"),
    log: path.join(state, "sessiond.log"),
  };
}

function xdg(environment: Environment, variable: string, fallback: string): string {
  // The XDG rule is to ignore a relative path.
  const base = (environment[variable] ?? "").trim();
  return path.join(path.isAbsolute(base) ? base : fallback, "sessiond");
}

function runtimeOf(state: string, environment: Environment): string {
  const base = runtimeBase(environment);
  if (base === undefined) {
    return shortEnough(path.join(state, "run"), state, environment);
  }
  // Each state folder has its own daemon. All but the user's default one have their own runtime folder.
  if (state === path.join(os.userInfo().homedir, ".local/state/sessiond")) {
    return shortEnough(path.join(base, "sessiond"), state, environment);
  }
  return hashed(base, state, "");
}

function shortEnough(runtime: string, state: string, environment: Environment): string {
  if (fits(runtime)) {
    return runtime;
  }
  const base = runtimeBase(environment);
  const short = base === undefined ? undefined : hashed(base, state, "");
  return short !== undefined && fits(short) ? short : hashed("/tmp", state, `-${uid()}`);
}

function hashed(base: string, state: string, owner: string): string {
  const hash = createHash("sha256").update(state).digest("hex").slice(0, 12);
  return path.join(base, `sessiond${owner}-${hash}`);
}

function fits(runtime: string): boolean {
  return Buffer.byteLength(runtime) + "/sessiond.sock".length <= SOCKET_PATH_LIMIT;
}

function runtimeBase(environment: Environment): string | undefined {
  const candidates = [environment["XDG_RUNTIME_DIR"] ?? "", `/run/user/${uid()}`];
  const found = candidates.find((candidate) => path.isAbsolute(candidate) && isPrivate(candidate));
  return found === undefined ? undefined : path.resolve(found);
}

function isPrivate(folder: string): boolean {
  try {
    const found = fs.lstatSync(folder);
    return found.isDirectory() && found.uid === uid() && (found.mode & 0o77) === 0;
  } catch {
    return false;
  }
}

function uid(): number {
  return process.geteuid?.() ?? -1;
}
