// Finds the `sessiond` command that starts the daemon. Independent of VS Code.
import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import type { Environment } from "./paths.ts";

/** The oldest `sessiond` that this extension works with. */
export const OLDEST_VERSION = "0.1.0";

/** For `sessiond --version`. Python may have to be read from a slow disk first. */
const VERSION_TIMEOUT_MS = 20_000;

const TIMED_OUT = "it did not print its version in time";

/** The settings and the environment that determine the candidates. */
export interface Lookup {
  /** The setting `sessiond.path`; "" for none. */
  chosen: string;
  /** Whether the workspace is trusted. Without trust, no program of the workspace is run. */
  trusted: boolean;
  /** Paths of the workspace's folders. */
  folders: readonly string[];
  /** The setting `python.defaultInterpreterPath`; "" for none. */
  interpreter: string;
  environment: Environment;
}

export interface Candidate {
  file: string;
  /** Where it was found, for messages. */
  from: string;
}

export type Found =
  | { kind: "found"; file: string; from: string; version: string }
  | { kind: "tooOld"; file: string; from: string; version: string }
  | { kind: "missing"; reason: string };

/** The files to try, in order. A command in the settings is the only candidate, so that it is never replaced silently. */
export function candidates(lookup: Lookup): Candidate[] {
  if (lookup.chosen) {
    const file = expanded(lookup.chosen, lookup);
    const files = file.includes("/") ? [file] : onPath(file, lookup.environment);
    return files.map((candidate) => ({ file: candidate, from: "the setting sessiond.path" }));
  }
  const ofWorkspace = lookup.trusted ? [...environments(lookup)] : [];
  const paths = onPath("sessiond", lookup.environment).map((file) => ({ file, from: "the PATH" }));
  const home = lookup.environment["HOME"];
  // The folder of pipx, uv and pip. The PATH of a window that was not opened from a shell often lacks it.
  const installed = home ? [{ file: path.join(home, ".local/bin/sessiond"), from: "~/.local/bin" }] : [];
  return unique([...ofWorkspace, ...paths, ...installed]);
}

function* environments(lookup: Lookup): Generator<Candidate> {
  for (const folder of lookup.folders) {
    yield { file: path.join(folder, ".venv/bin/sessiond"), from: "the workspace's .venv" };
  }
  const interpreter = expanded(lookup.interpreter, lookup);
  if (path.isAbsolute(interpreter)) {
    yield { file: path.join(path.dirname(interpreter), "sessiond"), from: "the workspace's Python" };
  }
}

function expanded(file: string, lookup: Lookup): string {
  const folder = lookup.folders[0];
  const absolute = file
    .replace(/^~(?=\/|$)/, lookup.environment["HOME"] ?? "~")
    .replaceAll("${workspaceFolder}", folder ?? "${workspaceFolder}");
  const relative = absolute.includes("/") && !path.isAbsolute(absolute);
  return relative && folder !== undefined ? path.join(folder, absolute) : absolute;
}

/** The first program of this name on the PATH. */
export function which(name: string, environment: Environment): string | undefined {
  return onPath(name, environment).find((file) => identify(file) !== undefined);
}

/** Every file of this name on the PATH. Relative folders are skipped, because they may be in the workspace. */
function onPath(name: string, environment: Environment): string[] {
  const folders = (environment["PATH"] ?? "").split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name));
}

function unique(found: readonly Candidate[]): Candidate[] {
  const files = new Map<string, Candidate>();
  for (const candidate of found) {
    files.set(candidate.file, files.get(candidate.file) ?? candidate);
  }
  return [...files.values()];
}

/** The output of `--version` by identity of the file, so that an unchanged program runs only once. */
export type VersionCache = Map<string, VersionResult>;
type VersionResult = { version: string } | { problem: string };

/** The first candidate that runs and is new enough. */
export async function find(lookup: Lookup, cache: VersionCache, signal: AbortSignal): Promise<Found> {
  let old: Found | undefined;
  const problems: string[] = [];
  for (const { file, from } of candidates(lookup)) {
    const identity = identify(file);
    if (identity === undefined) {
      continue;
    }
    const result = cache.get(identity) ?? (await version(file, signal));
    if (!signal.aborted && !("problem" in result && result.problem === TIMED_OUT)) {
      cache.set(identity, result);
    }
    if ("problem" in result) {
      problems.push(`${file} (from ${from}): ${result.problem}`);
    } else if (isOlder(result.version, OLDEST_VERSION)) {
      old ??= { kind: "tooOld", file, from, version: result.version };
    } else {
      return { kind: "found", file, from, version: result.version };
    }
  }
  return old ?? { kind: "missing", reason: problems.join("; ") || missingReason(lookup) };
}

function missingReason(lookup: Lookup): string {
  return lookup.chosen
    ? `The setting sessiond.path names ${lookup.chosen}, which is not an executable file.`
    : "There is no command sessiond in the workspace's environment, on the PATH or in ~/.local/bin.";
}

/** Identifies the content of an executable file; undefined if the file is not executable. */
function identify(file: string): string | undefined {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    const found = fs.statSync(file);
    return found.isFile() ? [file, found.ino, found.mtimeMs, found.size].join("\0") : undefined;
  } catch {
    return undefined;
  }
}

/** The version that `--version` prints. */
function version(file: string, signal: AbortSignal): Promise<VersionResult> {
  return new Promise((resolve) => {
    const options = { timeout: VERSION_TIMEOUT_MS, signal, killSignal: "SIGKILL", encoding: "utf8" } as const;
    const child = execFile(file, ["--version"], options, (error, stdout) => {
      const found = /^sessiond (\d+\.\d+\.\d+\S*)\s*$/.exec(stdout)?.[1];
      if (found !== undefined) {
        resolve({ version: found });
      } else if (error?.killed) {
        resolve({ problem: TIMED_OUT });
      } else {
        resolve({ problem: error ? firstLine(error.message) : "it does not print a version of sessiond" });
      }
    });
    child.stdin?.end();
  });
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

/** Whether version `one` comes before `other`. Only the first three numbers are compared. */
export function isOlder(one: string, other: string): boolean {
  const [left, right] = [numbers(one), numbers(other)];
  const differing = left.findIndex((number, place) => number !== right[place]);
  return differing >= 0 && (left[differing] ?? 0) < (right[differing] ?? 0);
}

function numbers(text: string): number[] {
  return text
    .split(".", 3)
    .map((part) => Number.parseInt(part, 10))
    .map((number) => (Number.isNaN(number) ? 0 : number));
}
