// The agents whose sessions can be read here, as choices. Independent of VS Code.
import type { AgentInfo } from "../protocol.ts";
import { agePhrase, ago, count, oneLine } from "./text.ts";

export interface FollowableAgent {
  readonly name: string;
  readonly title: string;
  /** The sessions that it has on this machine, and when it wrote the newest one. */
  readonly note: string;
  readonly isFollowed: boolean;
}

/** The agents that have sessions on this machine and whose format is known, and those that are followed. */
export function followableAgents(agents: readonly AgentInfo[], now: number): FollowableAgent[] {
  return agents
    .filter(({ format, fileCount, isFollowed }) => format !== null && (fileCount > 0 || isFollowed))
    .map(({ name, title, fileCount, lastWrittenAt, isFollowed }) => ({
      name,
      title: oneLine(title),
      note: [count(fileCount, "session"), agePhrase(ago(lastWrittenAt, now))].filter(Boolean).join(" · "),
      isFollowed,
    }));
}

/** HOME and those variables that move folders of agents, as this process has them: the daemon may have others. */
export function environmentOf(
  agents: readonly AgentInfo[],
  variables: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const names = new Set(["HOME", ...agents.flatMap((agent) => agent.variables)]);
  return Object.fromEntries(
    [...names].flatMap((name) => {
      const value = variables[name];
      return value ? [[name, value]] : [];
    }),
  );
}
