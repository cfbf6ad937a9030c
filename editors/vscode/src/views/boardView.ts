// The Board view: what every agent is doing now. While it is visible, it watches the list of sessions.
import * as path from "node:path";
import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import { Board, type BoardRow } from "../model/board.ts";
import { boardSummary, boardTooltip, boardWords } from "../model/boardWords.ts";
import { Interned, type SessionElement } from "./elements.ts";
import { themeIcon } from "./themeIcon.ts";

const ID = "sessiond.board";

/** Milliseconds between two updates of ages and states without a change. */
const CLOCK_MS = 10_000;
/** Milliseconds between the first of several changes and the rendering. */
const RENDER_DELAY_MS = 100;

export class BoardView implements vscode.TreeDataProvider<SessionElement>, vscode.Disposable {
  readonly #daemon: Daemon;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<SessionElement>;
  readonly #board: Board;
  readonly #elements = new Interned<SessionElement>();
  readonly #subscriptions: vscode.Disposable[];
  /** The rendered rows, by session. */
  #rows: ReadonlyMap<string, BoardRow> = new Map();
  #timer: NodeJS.Timeout | undefined;

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
    this.#board = new Board(
      {
        list: (params) => daemon.request("session/list", params),
        tree: (params) => daemon.request("session/tree", params),
        stats: (params) => daemon.request("session/stats", params),
        watch: (params) => daemon.request("server/watch", params),
        unwatch: (params) => daemon.request("server/unwatch", params),
      },
      () => this.#scheduleRender(),
    );
    this.#view = vscode.window.createTreeView(ID, { treeDataProvider: this });
    const clock = setInterval(() => this.#view.visible && this.#render(), CLOCK_MS);
    this.#subscriptions = [
      this.#view,
      this.#changed,
      new vscode.Disposable(() => clearInterval(clock)),
      new vscode.Disposable(() => clearTimeout(this.#timer)),
      daemon.onDidChangeState(() => this.#startOrStop()),
      daemon.onNotification("server/sessionsChanged", (note) => this.#board.sessionsChanged(note)),
      daemon.onNotification("server/watchLapsed", (note) => void this.#board.watchLapsed(note)),
      this.#view.onDidChangeVisibility(() => this.#startOrStop()),
    ];
    this.#startOrStop();
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  getChildren(element?: SessionElement): SessionElement[] {
    const ids = element === undefined ? [...this.#rows.keys()] : [];
    return ids.map((sessionId) => this.#elements.get(sessionId, () => ({ kind: "session", sessionId })));
  }

  getTreeItem(element: SessionElement): vscode.TreeItem {
    const row = this.#rows.get(element.sessionId);
    if (row === undefined) {
      return new vscode.TreeItem(""); // removed meanwhile; the next refresh drops it
    }
    const words = boardWords(row, path.basename(row.session.cwd), Date.now());
    const item = new vscode.TreeItem(words.label);
    item.id = `board:${element.sessionId}`;
    item.description = words.description;
    item.iconPath = themeIcon(words.icon);
    item.contextValue = words.context;
    item.tooltip = new vscode.MarkdownString(boardTooltip(row));
    item.accessibilityInformation = { label: words.accessibleText };
    item.command = { command: "sessiond.openSession", title: "Show Tree", arguments: [element] };
    return item;
  }

  #startOrStop(): void {
    if (this.#view.visible && this.#daemon.state.kind === "attached") {
      void this.#board.start();
    } else if (this.#daemon.state.kind === "attached") {
      this.#board.stop();
    } else {
      this.#board.disconnected();
    }
    this.#render();
  }

  #scheduleRender(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#render();
    }, RENDER_DELAY_MS);
  }

  #render(): void {
    const rows = this.#board.rows();
    this.#rows = new Map(rows.map((row) => [row.session.sessionId, row]));
    this.#changed.fire(undefined);
    const isAttached = this.#daemon.state.kind === "attached";
    this.#view.description = isAttached ? boardSummary(rows) : "";
    this.#view.message = (isAttached && this.#board.problem) || "";
    void vscode.commands.executeCommand("setContext", "sessiond.board.shows", rows.length > 0 ? "sessions" : "none");
  }
}
