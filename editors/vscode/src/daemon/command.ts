// Which `sessiond` is run to start the daemon. Knows nothing of VS Code.
import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import type { Environment } from "./places.ts";

/** The oldest `sessiond` that this extension works with. */
export const OLDEST = "0.1.0";

/** Milliseconds for `sessiond --version`; Python may have to be read from a slow disk first. */
const PATIENCE = 20_000;

const LATE = "it did not say its version in time";

/** What decides where to look. */
export interface Lookup {
  /** The setting `sessiond.path`; "" for none. */
  chosen: string;
  /** Without trust nothing is run that the workspace brings. */
  trusted: boolean;
  /** Paths of the workspace's folders. */
  folders: readonly string[];
  /** The setting `python.defaultInterpreterPath`; "" for none. */
  interpreter: string;
  environment: Environment;
}

export interface Candidate {
  file: string;
  /** Where it comes from, for people. */
  from: string;
}

export type Found =
  | { kind: "found"; file: string; from: string; version: string }
  | { kind: "tooOld"; file: string; from: string; version: string }
  | { kind: "missing"; reason: string };

/** The files to try, in order. What a person chose is the only one then: no other is taken silently. */
export function candidates(lookup: Lookup): Candidate[] {
  if (lookup.chosen) {
    const file = whole(lookup.chosen, lookup);
    const files = file.includes("/") ? [file] : onPath(file, lookup.environment);
    return files.map((candidate) => ({ file: candidate, from: "the setting sessiond.path" }));
  }
  const beside = lookup.trusted ? [...environments(lookup)] : [];
  const paths = onPath("sessiond", lookup.environment).map((file) => ({ file, from: "the PATH" }));
  const home = lookup.environment["HOME"];
  // Where pipx, uv and pip put it; the PATH of a window that was not opened from a shell often lacks it.
  const usual = home ? [{ file: path.join(home, ".local/bin/sessiond"), from: "~/.local/bin" }] : [];
  return unique([...beside, ...paths, ...usual]);
}

function* environments(lookup: Lookup): Generator<Candidate> {
  for (const folder of lookup.folders) {
    yield { file: path.join(folder, ".venv/bin/sessiond"), from: "the workspace's .venv" };
  }
  const interpreter = whole(lookup.interpreter, lookup);
  if (path.isAbsolute(interpreter)) {
    yield { file: path.join(path.dirname(interpreter), "sessiond"), from: "the workspace's Python" };
  }
}

function whole(file: string, lookup: Lookup): string {
  const folder = lookup.folders[0];
  const expanded = file
    .replace(/^~(?=\/|$)/, lookup.environment["HOME"] ?? "~")
    .replaceAll("${workspaceFolder}", folder ?? "${workspaceFolder}");
  const relative = expanded.includes("/") && !path.isAbsolute(expanded);
  return relative && folder !== undefined ? path.join(folder, expanded) : expanded;
}

/** The first program of this name on the PATH. */
export function which(name: string, environment: Environment): string | undefined {
  return onPath(name, environment).find((file) => identify(file) !== undefined);
}

/** Every file of this name on the PATH; relative folders of the PATH are left out, they may be the workspace. */
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
export type VersionCache = Map<string, Answer>;
type Answer = { version: string } | { problem: string };

/** The first candidate that runs and is new enough. */
export async function find(lookup: Lookup, cache: VersionCache, signal: AbortSignal): Promise<Found> {
  let old: Found | undefined;
  const problems: string[] = [];
  for (const { file, from } of candidates(lookup)) {
    const identity = identify(file);
    if (identity === undefined) {
      continue;
    }
    const answer = cache.get(identity) ?? (await version(file, signal));
    if (!signal.aborted && !("problem" in answer && answer.problem === LATE)) {
      cache.set(identity, answer);
    }
    if ("problem" in answer) {
      problems.push(`${file} (from ${from}): ${answer.problem}`);
    } else if (older(answer.version, OLDEST)) {
      old ??= { kind: "tooOld", file, from, version: answer.version };
    } else {
      return { kind: "found", file, from, version: answer.version };
    }
  }
  return old ?? { kind: "missing", reason: problems.join("; ") || nowhere(lookup) };
}

function nowhere(lookup: Lookup): string {
  return lookup.chosen
    ? `The setting sessiond.path names ${lookup.chosen}, which is no program that can be run.`
    : "There is no command sessiond in the workspace's environment, on the PATH or in ~/.local/bin.";
}

/** Names the very content of a file that can be run. */
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
function version(file: string, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve) => {
    const options = { timeout: PATIENCE, signal, killSignal: "SIGKILL", encoding: "utf8" } as const;
    const child = execFile(file, ["--version"], options, (error, stdout) => {
      const found = /^sessiond (\d+\.\d+\.\d+\S*)\s*$/.exec(stdout)?.[1];
      if (found !== undefined) {
        resolve({ version: found });
      } else if (error?.killed) {
        resolve({ problem: LATE });
      } else {
        resolve({ problem: error ? firstLine(error.message) : "it does not say that it is sessiond" });
      }
    });
    child.stdin?.end();
  });
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

/** Whether version `one` comes before `other`; what follows the three numbers does not count. */
export function older(one: string, other: string): boolean {
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
