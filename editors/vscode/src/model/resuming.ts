// Texts, choices and command lines for resuming a session in an agent. Independent of VS Code.
import type { Environment } from "../daemon/paths.ts";
import type { AgentInfo, Loss, ResumeResult } from "../protocol.ts";
import { count, oneLine } from "./text.ts";

/** Variables that tell where several agents keep their sessions. */
const SHARED = ["HOME", "TMPDIR", "XDG_CONFIG_HOME"];

const MAX_LISTED_LOSSES = 10;

/** The variables of this process that tell where agents keep their sessions. */
export function placesOf(agents: readonly Pick<AgentInfo, "variables">[], environment: Environment): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of [...SHARED, ...agents.flatMap(({ variables }) => variables)]) {
    const value = environment[name];
    if (value !== undefined) {
      found[name] = value;
    }
  }
  return found;
}

export interface AgentChoice {
  readonly name: string;
  readonly title: string;
  /** The reason why it cannot run; empty if it can. */
  readonly note: string;
}

/**
 * The agents that a session can be written for, those that are installed first.
 *
 * @param left The name of an agent that is left out; null for none.
 */
export function agentChoices(
  agents: readonly Pick<AgentInfo, "name" | "title" | "program" | "isWritable">[],
  left: string | null,
  isInstalled: (program: string) => boolean,
): AgentChoice[] {
  return agents
    .filter(({ name, isWritable }) => isWritable && name !== left)
    .map(({ name, title, program }) => ({ name, title: oneLine(title), program: oneLine(program), has: isInstalled(program) }))
    .sort((one, other) => Number(other.has) - Number(one.has))
    .map(({ name, title, program, has }) => ({ name, title, note: has ? "" : `${program} is not on the PATH` }));
}

/** Content that the format of an agent cannot hold, one kind in a line. */
export function lossText(losses: readonly Loss[]): string {
  const lines = losses.slice(0, MAX_LISTED_LOSSES).map(({ name, count: amount }) => `${amount} × ${oneLine(name)}`);
  const more = losses.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${count(more, "other kind")}`] : [])].join("\n");
}

/** A word for a POSIX shell, which takes it as it is. */
export function quoted(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/** The command line that resumes a session, for a POSIX shell. */
export function commandLine({ argv, importArgv, cwd, env }: Pick<ResumeResult, "argv" | "importArgv" | "cwd" | "env">): string {
  const variables = Object.entries(env)
    .filter(([name]) => name !== "PWD") // cd sets it
    .map(([name, value]) => `${name}=${quoted(value)}`);
  const commands = [...(importArgv === null ? [] : [importArgv]), argv];
  const lines = commands.map((words) => [...variables, ...words.map(quoted)].join(" "));
  return [`cd ${quoted(cwd)}`, ...lines].join(" && ");
}
