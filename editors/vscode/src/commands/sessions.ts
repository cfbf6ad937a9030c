// Commands for a session.
import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import { daemonError } from "../daemon/errors.ts";
import { ago, count, oneLine, quickPickText } from "../model/text.ts";
import { type KnownSession, titleOf } from "../model/words.ts";
import { showInformation, showStatusMessage } from "../userMessages.ts";
import { sessionTarget } from "../views/elements.ts";
import { type Command, onSession, type Views } from "./target.ts";

const MAX_TITLE_LENGTH = 1000;

export function sessionCommands(views: Views): Record<string, Command> {
  const { daemon } = views;
  const command = (run: (views: Views, session: KnownSession) => Promise<unknown>): Command =>
    onSession(views, (session) => run(views, session));
  return {
    "sessiond.newSession": () => newSession(views),
    "sessiond.continueSession": () => continueSession(views),
    "sessiond.renameSession": command(rename),
    "sessiond.tagSession": command(tag),
    "sessiond.deleteSession": command(deleteSession),
    "sessiond.forkSession": command(fork),
    "sessiond.moveSession": command(move),
    "sessiond.copySessionId": command((_, { sessionId }) => copy(sessionId)),
    "sessiond.copySessionPath": command((_, { path, sessionId }) => copy(path ?? sessionId)),
    "sessiond.openSessionFile": command(openFile),
    "sessiond.revealSessionFile": command(revealFile),
    "sessiond.showTrash": () => showTrash(views),
    "sessiond.restoreSession": async (argument) => {
      const { shown } = views.current;
      const sessionId = sessionTarget(argument) ?? (shown.kind === "unavailable" && shown.trashed ? shown.sessionId : undefined);
      return sessionId === undefined ? showTrash(views) : restore(daemon, { sessionId });
    },
  };
}

/** The target folder: the window's only folder, that of the active editor, or one that the user picks. */
async function targetFolder(): Promise<string | undefined> {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  const active = vscode.window.activeTextEditor?.document.uri;
  const ofEditor = active && vscode.workspace.getWorkspaceFolder(active);
  if (folders.length === 0) {
    showInformation("Open a folder first. A session belongs to a folder.");
    return undefined;
  }
  if (folders.length === 1 || (ofEditor !== undefined && folders.includes(ofEditor))) {
    return (folders.length === 1 ? folders[0] : ofEditor)?.uri.fsPath;
  }
  return (await vscode.window.showWorkspaceFolderPick())?.uri.fsPath;
}

async function newSession({ daemon, current, tree }: Views): Promise<void> {
  const cwd = await targetFolder();
  if (cwd === undefined) {
    return;
  }
  const title = await vscode.window.showInputBox({
    title: "New Session",
    prompt: "Title, or empty for none. The session is a draft until it has an assistant message.",
  });
  if (title !== undefined) {
    const params = { cwd, ...(title.trim() === "" ? {} : { title: title.trim() }) };
    current.show((await daemon.request("session/create", params)).session);
    await tree.focus();
  }
}

async function continueSession(views: Views): Promise<void> {
  const cwd = await targetFolder();
  if (cwd === undefined) {
    return;
  }
  try {
    const { session, message } = await views.daemon.request("session/continue", { cwd, project: true, create: false });
    views.current.show(session);
    await views.tree.focus();
    showStatusMessage(`${titleOf(session)}: ${message}`);
  } catch (error) {
    if (daemonError(error).kind !== "sessionNotFound") {
      throw error;
    }
    showInformation("This project has no session yet.", { "New Session…": () => newSession(views) });
  }
}

async function rename({ daemon }: Views, session: KnownSession): Promise<void> {
  const title = await vscode.window.showInputBox({
    title: "Rename Session",
    prompt: "Title, or empty for none.",
    value: oneLine(session.title),
    validateInput: (value) => (value.length > MAX_TITLE_LENGTH ? `At most ${MAX_TITLE_LENGTH} characters.` : undefined),
  });
  if (title !== undefined) {
    await daemon.request("session/rename", { sessionId: session.sessionId, title: title.trim() });
  }
}

async function tag({ daemon }: Views, session: KnownSession): Promise<void> {
  const words = await vscode.window.showInputBox({
    title: "Tag Session",
    prompt: "Tags, separated by spaces, or empty for none.",
    value: session.tags.map(oneLine).join(" "),
  });
  if (words !== undefined) {
    const tags = [...new Set(words.split(/[\s,]+/).map((word) => word.replace(/^#/, "")))].filter(Boolean);
    await daemon.request("session/tag", { sessionId: session.sessionId, tags });
  }
}

async function deleteSession({ daemon }: Views, session: KnownSession): Promise<void> {
  const { sessionId, path } = session;
  const note = "deleted in VS Code";
  let deleted: { trashId: string };
  try {
    deleted = await daemon.request("session/delete", { sessionId, note });
  } catch (error) {
    // A file of another program is deleted only by its path, after the user confirms.
    if (daemonError(error).kind !== "invalidParams" || path === null || !(await confirmDeletion(session))) {
      if (daemonError(error).kind === "invalidParams" && path !== null) {
        return;
      }
      throw error;
    }
    deleted = await daemon.request("session/delete", { path, note });
  }
  showInformation(`Moved “${titleOf(session)}” to the trash.`, { Undo: () => restore(daemon, { trashId: deleted.trashId }) });
}

/** Fork the path to the leaf. */
async function fork({ daemon, current, tree }: Views, { sessionId }: KnownSession): Promise<void> {
  const { session } = await daemon.request("session/fork", { sessionId });
  current.show(session);
  await tree.focus();
  showStatusMessage(`Forked into “${titleOf(session)}”.`);
}

async function confirmDeletion(session: KnownSession): Promise<boolean> {
  const yes = { title: "Move to the Trash" };
  const chosen = await vscode.window.showWarningMessage(
    "This session's file is in a folder of another program.",
    { modal: true, detail: `${oneLine(session.path)}\n\nThat program will no longer find it.` },
    yes,
  );
  return chosen === yes;
}

async function restore(daemon: Daemon, which: { sessionId: string } | { trashId: string }): Promise<void> {
  const { session } = await daemon.request("trash/restore", which);
  showStatusMessage(`Restored to ${session.path ?? "memory"}`);
}

async function showTrash({ daemon }: Views): Promise<void> {
  const { sessions, totalCount } = await daemon.request("trash/list", { limit: 1000, withTotal: true });
  if (sessions.length === 0) {
    showInformation("The trash is empty.");
    return;
  }
  const items = sessions.map((session) => ({
    label: quickPickText(oneLine(session.title) || "untitled"),
    description: quickPickText([ago(session.trashedAt, Date.now()), oneLine(session.cwd), session.sessionId].filter(Boolean).join(" · ")),
    detail: quickPickText([oneLine(session.note), session.isDraft ? "draft" : ""].filter(Boolean).join(" · ")),
    trashId: session.trashId,
  }));
  const chosen = await vscode.window.showQuickPick(items, {
    title: `Trash: ${count(totalCount ?? sessions.length, "session")}`,
    placeHolder: "Choose a session to restore",
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (chosen !== undefined) {
    await restore(daemon, { trashId: chosen.trashId });
  }
}

async function move({ daemon }: Views, session: KnownSession): Promise<void> {
  const chosen = await vscode.window.showOpenDialog({
    title: "Move Session to Folder",
    openLabel: "Move Here",
    canSelectFiles: false,
    canSelectFolders: true,
    canSelectMany: false,
  });
  const cwd = chosen?.[0]?.fsPath;
  if (cwd !== undefined) {
    await daemon.request("session/move", { sessionId: session.sessionId, cwd });
    showStatusMessage(`Moved “${titleOf(session)}” to ${cwd}.`);
  }
}

async function copy(text: string): Promise<void> {
  await vscode.env.clipboard.writeText(text);
  showStatusMessage(`Copied ${text}`);
}

async function openFile(_: Views, session: KnownSession): Promise<void> {
  if (session.path === null) {
    showInformation("This session is in memory only and has no file.");
  } else {
    await vscode.window.showTextDocument(vscode.Uri.file(session.path), { preview: true });
  }
}

async function revealFile(_: Views, session: KnownSession): Promise<void> {
  if (session.path === null) {
    showInformation("This session is in memory only and has no file.");
  } else {
    const { path } = session;
    const file = vscode.Uri.file(path);
    if (vscode.workspace.getWorkspaceFolder(file) !== undefined) {
      await vscode.commands.executeCommand("revealInExplorer", file);
    } else if (vscode.env.remoteName === undefined) {
      await vscode.commands.executeCommand("revealFileInOS", file);
    } else {
      // In a remote window, the local file manager cannot show the file.
      showInformation(`The file is outside the folders of this window: ${path}`, { "Copy Path": () => copy(path) });
    }
  }
}
