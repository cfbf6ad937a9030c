// Registers the views of sessions and the commands for sessions and entries.
import * as vscode from "vscode";
import { agentCommands } from "./commands/agents.ts";
import { comparingCommands } from "./commands/comparing.ts";
import { entryCommands } from "./commands/entries.ts";
import { exportCommands } from "./commands/exporting.ts";
import { resumeCommands } from "./commands/resuming.ts";
import { sessionCommands } from "./commands/sessions.ts";
import { viewCommands } from "./commands/viewing.ts";
import type { Command, Views } from "./commands/target.ts";
import { Current } from "./current.ts";
import type { Daemon } from "./daemon/daemon.ts";
import { Preview } from "./preview.ts";
import { StorageReport } from "./storageReport.ts";
import { attempt } from "./userMessages.ts";
import { Transcripts } from "./transcript/transcripts.ts";
import { BoardView } from "./views/boardView.ts";
import { LabelsView } from "./views/labelsView.ts";
import { SessionsView } from "./views/sessionsView.ts";
import { TreeView } from "./views/treeView.ts";

export function registerViews(daemon: Daemon, memory: vscode.Memento, extension: vscode.Uri): vscode.Disposable {
  const current = new Current(daemon, memory);
  const tree = new TreeView(daemon, current);
  const sessions = new SessionsView(daemon, current);
  const transcripts = new Transcripts(daemon, current, tree, extension);
  const views: Views = { daemon, current, tree, sessions, transcripts };
  const storage = new StorageReport(daemon);
  const commands: Record<string, Command> = {
    "sessiond.showStorage": () => storage.show(),
    ...viewCommands(views),
    ...agentCommands(views),
    ...sessionCommands(views),
    ...entryCommands(views),
    ...comparingCommands(views),
    ...exportCommands(views),
    ...resumeCommands(views),
  };
  const registered = Object.entries(commands).map(([name, run]) =>
    vscode.commands.registerCommand(name, (argument?: unknown) => attempt(() => run(argument))),
  );
  return vscode.Disposable.from(
    current,
    tree,
    sessions,
    new LabelsView(daemon, current),
    new BoardView(daemon),
    new Preview(daemon),
    transcripts,
    storage,
    ...registered,
  );
}
