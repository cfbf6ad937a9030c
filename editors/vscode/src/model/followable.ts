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
