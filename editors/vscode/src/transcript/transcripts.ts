// The transcript panels: one for each session, restored after a reload of the window.
import * as vscode from "vscode";
import type { Current } from "../current.ts";
import type { Daemon } from "../daemon/daemon.ts";
import { attempt } from "../userMessages.ts";
import type { TreeView } from "../views/treeView.ts";
import { type Act, parseState, type TranscriptTarget } from "./messages.ts";
import { TranscriptPanel } from "./panel.ts";

const VIEW = "sessiond-transcript";

/** The commands of an entry's buttons. Their argument is `{sessionId, entryId}`. */
const COMMANDS: Record<Act, string> = {
  open: "sessiond.revealEntry",
  fork: "sessiond.forkHere",
  label: "sessiond.setLabel",
};

export class Transcripts implements vscode.Disposable {
  readonly #daemon: Daemon;
  readonly #current: Current;
  readonly #tree: TreeView;
  readonly #extension: vscode.Uri;
  readonly #panels = new Map<string, TranscriptPanel>();
  readonly #subscriptions: vscode.Disposable;
  #activeSessionId: string | undefined;

  /** `extension` is the folder of the extension. */
  constructor(daemon: Daemon, current: Current, tree: TreeView, extension: vscode.Uri) {
    this.#daemon = daemon;
    this.#current = current;
    this.#tree = tree;
    this.#extension = extension;
    const serializer = vscode.window.registerWebviewPanelSerializer(VIEW, {
      deserializeWebviewPanel: async (panel, state) => {
        const known = parseState(state);
        if (known === undefined || this.#panels.has(known.sessionId)) {
          panel.dispose();
        } else {
          this.#register(panel, known.sessionId);
        }
      },
    });
    const visibility = tree.onDidChangeVisibility(() => this.#panels.forEach((panel) => panel.showTreeVisibility()));
    this.#subscriptions = vscode.Disposable.from(serializer, visibility);
  }

  /** The session of the transcript that is or was the active editor last, if it is still open. */
  get activeSessionId(): string | undefined {
    const active = this.#activeSessionId;
    return active !== undefined && this.#panels.has(active) ? active : undefined;
  }

  /** Show the transcript of a session, at an entry if one is given. */
  show({ sessionId, entryId, preserveFocus }: TranscriptTarget): void {
    const panel = this.#panels.get(sessionId) ?? this.#create(sessionId, preserveFocus);
    panel.show(preserveFocus, entryId);
  }

  /** Show the transcript of a session in front of other tabs, if it is open. The keyboard focus does not change. */
  showIfOpen(sessionId: string): void {
    this.#panels.get(sessionId)?.show(true);
  }

  dispose(): void {
    this.#subscriptions.dispose();
    this.#panels.forEach((panel) => panel.dispose());
  }

  #create(sessionId: string, preserveFocus: boolean): TranscriptPanel {
    const options = {
      enableScripts: true,
      localResourceRoots: [],
      enableFindWidget: true,
      // Otherwise each switch of tabs would lose folds, filters and the position, and render up to 20,000 rows again.
      // The cost is memory while the tab is open.
      retainContextWhenHidden: true,
    };
    const column = { viewColumn: vscode.ViewColumn.Active, preserveFocus };
    return this.#register(vscode.window.createWebviewPanel(VIEW, "Transcript", column, options), sessionId);
  }

  #register(panel: vscode.WebviewPanel, sessionId: string): TranscriptPanel {
    const transcript = new TranscriptPanel(panel, this.#daemon, sessionId, {
      act: (act, entryId) => void vscode.commands.executeCommand(COMMANDS[act], { sessionId, entryId }),
      at: (entryId) => void attempt(() => this.#tree.select({ sessionId, entryId })),
      treeIsVisible: () => this.#tree.visible,
    });
    const held = this.#current.hold(sessionId);
    // Tabs do not recolor icons, unlike the activity bar.
    panel.iconPath = {
      light: vscode.Uri.joinPath(this.#extension, "media/transcript-light.svg"),
      dark: vscode.Uri.joinPath(this.#extension, "media/transcript-dark.svg"),
    };
    this.#panels.set(sessionId, transcript);
    if (panel.active) {
      this.#activeSessionId = sessionId;
    }
    const activation = panel.onDidChangeViewState(() => panel.active && this.#activated(sessionId));
    panel.onDidDispose(() => {
      activation.dispose();
      transcript.dispose();
      held.dispose();
      this.#panels.delete(sessionId);
    });
    return transcript;
  }

  /** The views show the session of the active transcript, like that of the active editor. */
  #activated(sessionId: string): void {
    this.#activeSessionId = sessionId;
    const follows = vscode.workspace.getConfiguration("sessiond").get("tree.followEditor", true);
    if (follows && this.#daemon.state.kind === "attached" && this.#current.sessionId !== sessionId) {
      void attempt(() => this.#current.open({ sessionId }));
    }
  }
}
