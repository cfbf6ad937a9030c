// The Labels: the bookmarks of the session that is shown, the newest entry last.
import * as vscode from "vscode";
import type { Current } from "../current.ts";
import type { Daemon } from "../daemon/daemon.ts";
import { ago, oneLine } from "../model/text.ts";
import { rowWords, textOf } from "../model/words.ts";
import type { TreeNode } from "../protocol.ts";
import type { EntryElement } from "./elements.ts";

/** More labels than these are not listed: the Tree with the filter labeledOnly has pages. */
const PAGE_SIZE = 1000;
/** Milliseconds in which changes are gathered. */
const GATHERING = 50;

export class LabelsView implements vscode.TreeDataProvider<EntryElement>, vscode.Disposable {
  readonly #daemon: Daemon;
  readonly #current: Current;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<EntryElement>;
  readonly #subscriptions: vscode.Disposable[];
  #sessionId: string | undefined;
  #rows = new Map<string, TreeNode>();
  #load = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(daemon: Daemon, current: Current) {
    this.#daemon = daemon;
    this.#current = current;
    this.#view = vscode.window.createTreeView("sessiond.labels", { treeDataProvider: this });
    const about = ({ sessionId }: { sessionId: string }): boolean => sessionId === this.#sessionId;
    this.#subscriptions = [
      this.#view,
      this.#changed,
      new vscode.Disposable(() => clearTimeout(this.#timer)),
      current.onDidOpen(() => this.#soon()),
      current.onDidChange(() => this.#sessionId !== current.sessionId && this.#soon()),
      daemon.onNotification("session/appended", (note) => {
        if (about(note) && note.items.some(({ entry: { type } }) => type === "label" || type === "leaf")) {
          this.#soon();
        }
      }),
    ];
    this.#soon();
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  getChildren(element?: EntryElement): EntryElement[] {
    const sessionId = this.#sessionId;
    return element !== undefined || sessionId === undefined
      ? []
      : Array.from(this.#rows.keys(), (entryId) => ({ kind: "entry", sessionId, entryId }));
  }

  getParent(): undefined {
    return undefined;
  }

  getTreeItem(element: EntryElement): vscode.TreeItem {
    const row = this.#rows.get(element.entryId);
    if (row === undefined) {
      return new vscode.TreeItem("");
    }
    const words = rowWords(row, false, Date.now());
    const item = new vscode.TreeItem(oneLine(row.label));
    item.id = `${element.sessionId}/${element.entryId}`;
    item.description = [textOf(row), ago(row.timestamp, Date.now())].filter(Boolean).join(" · ");
    item.iconPath = new vscode.ThemeIcon("tag", row.onPath ? undefined : new vscode.ThemeColor("disabledForeground"));
    item.contextValue = words.context;
    item.accessibilityInformation = { label: `${oneLine(row.label)}: ${words.accessibleText}` };
    item.command = { command: "sessiond.showInTree", title: "Show in Tree", arguments: [element] };
    return item;
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#read();
    }, GATHERING);
  }

  async #read(): Promise<void> {
    const load = ++this.#load;
    const sessionId = this.#current.sessionId;
    let nodes: TreeNode[] = [];
    if (sessionId !== undefined) {
      try {
        const page = await this.#daemon.request("session/tree", { sessionId, filter: "labeledOnly", limit: PAGE_SIZE });
        nodes = page.nodes;
      } catch {
        return; // the tree view shows the error; the labels are reloaded after a reconnect
      }
    }
    if (load !== this.#load || sessionId !== this.#current.sessionId) {
      return;
    }
    this.#sessionId = sessionId;
    this.#rows = new Map(nodes.sort((one, other) => one.seq - other.seq).map((node) => [node.id, node]));
    this.#changed.fire(undefined);
    this.#view.description = this.#rows.size === 0 ? "" : String(this.#rows.size);
    void vscode.commands.executeCommand("setContext", "sessiond.labels.shows", this.#rows.size > 0 ? "labels" : "none");
  }
}
