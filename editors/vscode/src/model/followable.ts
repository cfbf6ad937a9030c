// The agents whose sessions can be read here, as choices. Independent of VS Code.
import type { AgentInfo } from "../protocol.ts";
import { ago, count, oneLine } from "./text.ts";

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
    .map(({ name, title, fileCount, lastWrittenAt, isFollowed }) => {
      const when = ago(lastWrittenAt, now);
      const written = when === "" || when === "now" ? when : `${when} ago`;
      return { name, title: oneLine(title), note: [count(fileCount, "session"), written].filter(Boolean).join(" · "), isFollowed };
    });
}
