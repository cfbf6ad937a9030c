// The command that shows a transcript, and the panels: one for each session, restored after a reload of the window.
import * as vscode from "vscode";
import type { Current } from "../current.ts";
import type { Daemon } from "../daemon/daemon.ts";
import { type Act, parseState, parseTarget } from "./messages.ts";
import { TranscriptPanel } from "./panel.ts";

const VIEW = "sessiond-transcript";

/** The commands of an entry's buttons. Their argument is `{sessionId, entryId}`. */
const COMMANDS: Record<Act, string> = {
  open: "sessiond.revealEntry",
  fork: "sessiond.forkHere",
  label: "sessiond.setLabel",
};

/** `extension` is the folder of the extension. */
export function registerTranscripts(daemon: Daemon, current: Current, extension: vscode.Uri): vscode.Disposable {
  const panels = new Map<string, TranscriptPanel>();

  function register(panel: vscode.WebviewPanel, sessionId: string): TranscriptPanel {
    const transcript = new TranscriptPanel(panel, daemon, sessionId, (act, entryId) => {
      void vscode.commands.executeCommand(COMMANDS[act], { sessionId, entryId });
    });
    const held = current.hold(sessionId);
    // Tabs do not recolor icons, unlike the activity bar.
    panel.iconPath = {
      light: vscode.Uri.joinPath(extension, "media/transcript-light.svg"),
      dark: vscode.Uri.joinPath(extension, "media/transcript-dark.svg"),
    };
    panels.set(sessionId, transcript);
    panel.onDidDispose(() => {
      transcript.dispose();
      held.dispose();
      panels.delete(sessionId);
    });
    return transcript;
  }

  function create(sessionId: string): TranscriptPanel {
    const options = {
      enableScripts: true,
      localResourceRoots: [],
      enableFindWidget: true,
      // Otherwise each switch of tabs would lose folds, filters and the position, and render up to 20,000 rows again.
      // The cost is memory while the tab is open.
      retainContextWhenHidden: true,
    };
    const panel = vscode.window.createWebviewPanel(VIEW, "Transcript", vscode.ViewColumn.Active, options);
    return register(panel, sessionId);
  }

  /** Show the transcript of the argument, else of the shown session. Without one, do nothing. */
  function show(argument?: unknown): void {
    const target = parseTarget(argument);
    const sessionId = target?.sessionId ?? current.sessionId;
    if (sessionId !== undefined) {
      (panels.get(sessionId) ?? create(sessionId)).show(target?.entryId);
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
          register(panel, known.sessionId);
        }
      },
    }),
    { dispose: () => panels.forEach((panel) => panel.dispose()) },
  );
}
