// The Board view: what every agent is doing now. While it is visible, it watches the list of sessions.
import * as path from "node:path";
import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import { Board, type BoardRow } from "../model/board.ts";
import { boardSummary, boardTooltip, boardWords } from "../model/boardWords.ts";
import { distinctions, sessionFacts } from "../model/distinctions.ts";
import type { SessionWords } from "../model/words.ts";
import { onAutomatedChange, showsAutomated } from "../settings.ts";
import { HIDDEN, type HiddenElement, Interned, type SessionElement } from "./elements.ts";
import { hiddenItem } from "./hiddenRow.ts";
import { themeIcon } from "./themeIcon.ts";

type Element = SessionElement | HiddenElement;

const ID = "sessiond.board";

/** Milliseconds between two updates of ages and states without a change. */
const CLOCK_MS = 10_000;
/** Milliseconds between the first of several changes and the rendering. */
const RENDER_DELAY_MS = 100;

export class BoardView implements vscode.TreeDataProvider<Element>, vscode.Disposable {
  readonly #daemon: Daemon;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<Element>;
  readonly #board: Board;
  readonly #elements = new Interned<SessionElement>();
  readonly #subscriptions: vscode.Disposable[];
  /** The rendered rows, by session. */
  #rows: ReadonlyMap<string, BoardRow> = new Map();
  /** The distinctions of rows that look the same, by session. */
  #distinctions: ReadonlyMap<string, readonly string[]> = new Map();
  #hiddenCount = 0;
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
      Date.now,
      showsAutomated(),
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
      onAutomatedChange(() => this.#board.showAutomated(showsAutomated())),
      this.#view.onDidChangeVisibility(() => this.#startOrStop()),
    ];
    this.#startOrStop();
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  getChildren(element?: Element): Element[] {
    if (element !== undefined) {
      return [];
    }
    const rows = [...this.#rows.keys()].map((id) => this.#elements.get(id, () => ({ kind: "session", sessionId: id })));
    return this.#hiddenCount > 0 ? [...rows, HIDDEN] : rows;
  }

  getTreeItem(element: Element): vscode.TreeItem {
    if (element.kind === "hidden") {
      return hiddenItem(this.#hiddenCount);
    }
    const row = this.#rows.get(element.sessionId);
    if (row === undefined) {
      return new vscode.TreeItem(""); // removed meanwhile; the next refresh drops it
    }
    const words = this.#words(row, this.#distinctions.get(element.sessionId));
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

  #words(row: BoardRow, added?: readonly string[]): SessionWords {
    return boardWords(row, path.basename(row.session.cwd), Date.now(), added);
  }

  #render(): void {
    const rows = this.#board.rows();
    const compared = rows.map((row) => {
      const { label, description } = this.#words(row);
      const facts = sessionFacts(row.session, row.lastWords);
      return { shown: `${label} ${description}`, facts, id: row.session.sessionId };
    });
    const added = distinctions(compared);
    this.#distinctions = new Map(compared.map(({ id }, place) => [id, added[place] ?? []]));
    this.#rows = new Map(rows.map((row) => [row.session.sessionId, row]));
    this.#hiddenCount = this.#board.hiddenCount;
    this.#changed.fire(undefined);
    const isAttached = this.#daemon.state.kind === "attached";
    this.#view.description = isAttached ? boardSummary(rows) : "";
    this.#view.message = (isAttached && this.#board.problem) || "";
    void vscode.commands.executeCommand("setContext", "sessiond.board.shows", rows.length > 0 ? "sessions" : "none");
  }
}
