// The command that chooses the agents whose sessions are read here, and from then on as the agents write them.
import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import { environmentOf, type FollowableAgent, followableAgents } from "../model/followable.ts";
import { quickPickText } from "../model/text.ts";
import { showInformation } from "../userMessages.ts";
import { withProgress } from "./progress.ts";
import type { Command, Views } from "./target.ts";

export function agentCommands({ daemon }: Views): Record<string, Command> {
  return { "sessiond.followAgents": () => followAgents(daemon) };
}

async function followAgents(daemon: Daemon): Promise<void> {
  const { agents } = await daemon.request("agent/list", {});
  const known = followableAgents(agents, Date.now());
  if (known.length === 0) {
    showInformation("No agent that sessiond can read has sessions on this machine.");
    return;
  }
  const isFirst = !known.some(({ isFollowed }) => isFollowed);
  const items = known.map((agent) => ({
    label: quickPickText(agent.title),
    description: quickPickText(agent.note),
    picked: agent.isFollowed || isFirst,
    agent,
  }));
  const chosen = await vscode.window.showQuickPick(items, {
    title: "Follow Agents",
    placeHolder: "Read the sessions of these agents, now and as the agents write them",
    canPickMany: true,
  });
  if (chosen === undefined) {
    return;
  }
  const isChosen = (agent: FollowableAgent) => chosen.some((item) => item.agent === agent);
  const left = known.filter((agent) => agent.isFollowed && !isChosen(agent));
  if (left.length > 0) {
    await daemon.request("agent/unfollow", { agents: left.map(({ name }) => name) });
  }
  const added = known.filter((agent) => !agent.isFollowed && isChosen(agent));
  if (added.length > 0) {
    const title = `Reading the sessions of ${added.map((agent) => agent.title).join(", ")}`;
    await withProgress(daemon, title, (workDoneToken, cancel) =>
      daemon.request("agent/follow", { agents: added.map(({ name }) => name), environment: environmentOf(agents, process.env), workDoneToken }, cancel),
    );
  }
}
