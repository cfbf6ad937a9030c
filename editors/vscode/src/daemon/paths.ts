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
  const user = environment["HOME"] ?? os.userInfo().homedir;
  let state: string;
  let runtime: string;
  if (chosen) {
    const root = normalized(expanded(chosen, user));
    state = below(root, "state");
    runtime = shortEnough(below(root, "run"), state, environment);
  } else {
    state =
      process.platform === "darwin"
        ? path.join(os.homedir(), "Library/Application Support/sessiond")
        : xdg(environment, "XDG_STATE_HOME", `${user}/.local/state`);
    runtime = runtimeOf(state, environment);
  }
  return {
    endpoint: below(state, "endpoint.json"),
    socket: below(runtime, "sessiond.sock"),
    log: below(state, "sessiond.log"),
  };
}

/** The path with `~` or `~NAME` at its beginning replaced by the folder of the user, if there is such a user. */
function expanded(chosen: string, user: string): string {
  const [tilde, name] = /^~([^/]*)/.exec(chosen) ?? [];
  const folder = name ? folderOf(name) : user;
  return tilde === undefined || folder === undefined
    ? chosen
    : folder.replace(/\/+$/, "") + chosen.slice(tilde.length) || "/";
}

/** The folder of another user. Node finds only that of the user of this process. */
function folderOf(name: string): string | undefined {
  try {
    const users = fs.readFileSync("/etc/passwd", "utf8").split("\n").map((line) => line.split(":"));
    return users.find(([found]) => found === name)?.[5];
  } catch {
    return undefined;
  }
}

/** The absolute path. Two slashes at its beginning stay, as POSIX has it and `path` does not. */
function normalized(chosen: string): string {
  return (/^\/\/(?!\/)/.test(chosen) ? "/" : "") + path.resolve(chosen);
}

/** `path.join` would normalize the folder. */
function below(folder: string, name: string): string {
  return folder.endsWith("/") ? folder + name : `${folder}/${name}`;
}

function xdg(environment: Environment, variable: string, fallback: string): string {
  // The XDG rule is to ignore a relative path.
  const base = (environment[variable] ?? "").trim();
  return below(normalized(path.isAbsolute(base) ? base : fallback), "sessiond");
}

function runtimeOf(state: string, environment: Environment): string {
  const base = runtimeBase(environment);
  if (base === undefined) {
    return shortEnough(below(state, "run"), state, environment);
  }
  // Each state folder has its own daemon. All but the user's default one have their own runtime folder.
  if (state === below(normalized(os.userInfo().homedir), ".local/state/sessiond")) {
    return shortEnough(below(base, "sessiond"), state, environment);
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
  return below(base, `sessiond${owner}-${hash}`);
}

function fits(runtime: string): boolean {
  return Buffer.byteLength(runtime) + "/sessiond.sock".length <= SOCKET_PATH_LIMIT;
}

function runtimeBase(environment: Environment): string | undefined {
  const candidates = [environment["XDG_RUNTIME_DIR"] ?? "", `/run/user/${uid()}`];
  const found = candidates.find((candidate) => path.isAbsolute(candidate) && isPrivate(candidate));
  return found === undefined ? undefined : normalized(found);
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
