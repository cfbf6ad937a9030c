// Commands that resume a session in an agent: in its own, or from a path in another one.
//
// The daemon finds or writes the session of the agent. The agent then runs in a terminal, as a program with arguments:
// no shell reads them, because ids, folders and titles come from transcripts.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { which } from "../daemon/command.ts";
import { agentChoices, commandLine, lossText, placesOf } from "../model/resuming.ts";
import { fit, notificationText, oneLine, quickPickText } from "../model/text.ts";
import { type KnownSession, titleOf } from "../model/words.ts";
import type { AgentInfo, ResumeParams, ResumeResult } from "../protocol.ts";
import { showInformation } from "../userMessages.ts";
import { type Command, onEntry, onSession, sessionOf, type Views } from "./target.ts";

const MAX_NAME_LENGTH = 40;

export function resumeCommands(views: Views): Record<string, Command> {
  return {
    "sessiond.resumeSession": onSession(views, (session) => resumeOwn(views, session)),
    "sessiond.resumeElsewhere": onSession(views, (session) => resumeElsewhere(views, session)),
    "sessiond.resumeFromEntry": onEntry(views, async ({ sessionId, entryId }) =>
      resumeElsewhere(views, await sessionOf(views, sessionId), entryId),
    ),
  };
}

/** Resume in the agent that the session came from. */
async function resumeOwn(views: Views, session: KnownSession): Promise<void> {
  const { agents } = await views.daemon.request("agent/list", {});
  const own = agents.find(({ name }) => name === session.origin?.agent);
  if (own === undefined) {
    await chooseAndResume(views, session, agents); // it began here
  } else {
    await resume(views, session, agents, own, {});
  }
}

/** Resume in an agent that the user picks, the path to the leaf or to an entry. */
async function resumeElsewhere(views: Views, session: KnownSession, leafId?: string): Promise<void> {
  const { agents } = await views.daemon.request("agent/list", {});
  await chooseAndResume(views, session, agents, leafId);
}

async function chooseAndResume(views: Views, session: KnownSession, agents: AgentInfo[], leafId?: string): Promise<void> {
  // The whole session goes on in its own agent by another command. From an entry, that agent gets a new session.
  const left = leafId === undefined ? (session.origin?.agent ?? null) : null;
  const items = agentChoices(agents, left, (program) => which(program, process.env) !== undefined).map((choice) => ({
    label: quickPickText(choice.title),
    description: quickPickText(choice.note),
    name: choice.name,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: leafId === undefined ? "Resume in Another Agent" : "Resume from Here in Another Agent",
    placeHolder: titleOf(session),
  });
  const agent = agents.find(({ name }) => name === picked?.name);
  if (agent !== undefined) {
    await resume(views, session, agents, agent, leafId === undefined ? {} : { leafId });
  }
}

async function resume(
  { daemon }: Views,
  session: KnownSession,
  agents: readonly AgentInfo[],
  agent: AgentInfo,
  from: Pick<ResumeParams, "leafId">,
): Promise<void> {
  const found = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: "Preparing the session" },
    () =>
      daemon.request("session/resume", {
        sessionId: session.sessionId,
        agent: agent.name,
        env: placesOf(agents, process.env),
        ...from,
      }),
  );
  if (found.losses.length > 0 && !(await acceptsLosses(session, agent, found))) {
    return;
  }
  const program = found.argv[0] === undefined ? undefined : which(found.argv[0], process.env);
  if (program === undefined) {
    offerCommand(agent, found);
    return;
  }
  if (found.importArgv !== null) {
    await runImport(agent, found);
  }
  vscode.window
    .createTerminal({
      name: fit(oneLine(`${agent.title}: ${titleOf(session)}`), MAX_NAME_LENGTH),
      iconPath: new vscode.ThemeIcon("debug-continue"),
      shellPath: program,
      shellArgs: found.argv.slice(1),
      cwd: found.cwd,
      env: found.env,
    })
    .show();
}

/** Show what the format of the agent cannot hold, and return whether the user wants to go on. */
async function acceptsLosses(session: KnownSession, agent: AgentInfo, found: ResumeResult): Promise<boolean> {
  const chosen = await vscode.window.showWarningMessage(
    notificationText(`${agent.title} gets “${titleOf(session)}” without what it cannot represent.`),
    { modal: true, detail: lossText(found.losses) },
    "Resume",
    "Copy Command",
  );
  if (chosen === "Copy Command") {
    await vscode.env.clipboard.writeText(commandLine(found));
  }
  return chosen === "Resume";
}

function offerCommand(agent: AgentInfo, found: ResumeResult): void {
  showInformation(`${agent.program}, the program of ${agent.title}, is not on the PATH of VS Code.`, {
    "Copy Command": () => vscode.env.clipboard.writeText(commandLine(found)),
  });
}

/** Let the agent import the session that was written for it. */
async function runImport(agent: AgentInfo, { importArgv, cwd, env }: ResumeResult): Promise<void> {
  const [program, ...words] = importArgv ?? [];
  const file = program === undefined ? undefined : which(program, process.env);
  if (file === undefined) {
    throw new Error(`${program} is not on the PATH of VS Code.`);
  }
  try {
    await promisify(execFile)(file, words, { cwd, env: { ...process.env, ...env } });
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    throw new Error(`${agent.title} did not import the session: ${stderr?.trim() || message}`);
  }
}
