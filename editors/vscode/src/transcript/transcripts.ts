// The command that shows a transcript, and the panels: one a session, there again after a reload of the window.
import * as vscode from "vscode";
import type { Current } from "../current.ts";
import type { Daemon } from "../daemon/daemon.ts";
import { type Act, chosen, parseState } from "./messages.ts";
import { TranscriptPanel } from "./panel.ts";

const VIEW = "sessiond-transcript";

/** What the buttons of an entry do: commands that are there anyway, given the entry as `{sessionId, entryId}`. */
const COMMANDS: Record<Act, string> = {
  open: "sessiond.revealEntry",
  fork: "sessiond.forkHere",
  label: "sessiond.setLabel",
};

/** `extension` is the folder of the extension. */
export function registerTranscripts(daemon: Daemon, current: Current, extension: vscode.Uri): vscode.Disposable {
  const panels = new Map<string, TranscriptPanel>();

  function take(panel: vscode.WebviewPanel, sessionId: string): TranscriptPanel {
    const taken = new TranscriptPanel(panel, daemon, sessionId, (act, entryId) => {
      void vscode.commands.executeCommand(COMMANDS[act], { sessionId, entryId });
    });
    const held = current.hold(sessionId);
    // A tab does not color its icon as the activity bar does.
    panel.iconPath = {
      light: vscode.Uri.joinPath(extension, "media/transcript-light.svg"),
      dark: vscode.Uri.joinPath(extension, "media/transcript-dark.svg"),
    };
    panels.set(sessionId, taken);
    panel.onDidDispose(() => {
      taken.dispose();
      held.dispose();
      panels.delete(sessionId);
    });
    return taken;
  }

  function made(sessionId: string): TranscriptPanel {
    const options = {
      enableScripts: true,
      localResourceRoots: [],
      enableFindWidget: true,
      // Folds, filters and the place in a long session would be lost, and 20,000 rows be drawn anew, at every look
      // at another tab. What it costs is memory, while the tab is open.
      retainContextWhenHidden: true,
    };
    const panel = vscode.window.createWebviewPanel(VIEW, "Transcript", vscode.ViewColumn.Active, options);
    return take(panel, sessionId);
  }

  /** What a view gave it, else the session that is shown; nothing where there is none, as in the palette. */
  function show(argument?: unknown): void {
    const target = chosen(argument);
    const sessionId = target?.sessionId ?? current.sessionId;
    if (sessionId !== undefined) {
      (panels.get(sessionId) ?? made(sessionId)).show(target?.entryId);
    }
  }

  return vscode.Disposable.from(
    vscode.commands.registerCommand("sessiond.showTranscript", show),
    vscode.window.registerWebviewPanelSerializer(VIEW, {
      deserializeWebviewPanel: async (panel, state) => {
        const known = parseState(state);
        if (known === undefined || panels.has(known.sessionId)) {
          panel.dispose();
        } else {
          take(panel, known.sessionId);
        }
      },
    }),
    { dispose: () => panels.forEach((panel) => panel.dispose()) },
  );
}
