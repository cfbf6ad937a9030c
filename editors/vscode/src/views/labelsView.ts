// The Labels view: the labeled entries of the shown session, in log order.
import * as vscode from "vscode";
import type { Current } from "../current.ts";
import type { Daemon } from "../daemon/daemon.ts";
import { labelDistinctions, labelWords, readLabels } from "../model/labels.ts";
import type { LabeledEntry } from "../protocol.ts";
import type { EntryElement } from "./elements.ts";

/** Milliseconds between the first of several changes and the request for the labels. */
const READ_DELAY_MS = 50;

export class LabelsView implements vscode.TreeDataProvider<EntryElement>, vscode.Disposable {
  readonly #daemon: Daemon;
  readonly #current: Current;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<EntryElement>;
  readonly #subscriptions: vscode.Disposable[];
  #sessionId: string | undefined;
  #entries: ReadonlyMap<string, LabeledEntry> = new Map();
  /** The distinctions of rows that look the same, by entry. */
  #distinctions: ReadonlyMap<string, readonly string[]> = new Map();
  /** Number of the last read: the result of an older one is dropped. */
  #read = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(daemon: Daemon, current: Current) {
    this.#daemon = daemon;
    this.#current = current;
    this.#view = vscode.window.createTreeView("sessiond.labels", { treeDataProvider: this });
    this.#subscriptions = [
      this.#view,
      this.#changed,
      new vscode.Disposable(() => clearTimeout(this.#timer)),
      current.onDidOpen(() => this.#scheduleRead()),
      current.onDidChange(() => this.#sessionId !== current.sessionId && this.#scheduleRead()),
      daemon.onNotification("session/appended", ({ sessionId, items }) => {
        if (sessionId === this.#sessionId && items.some(({ entry: { type } }) => type === "label")) {
          this.#scheduleRead();
        }
      }),
    ];
    this.#scheduleRead();
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  getChildren(element?: EntryElement): EntryElement[] {
    const sessionId = this.#sessionId;
    return element !== undefined || sessionId === undefined
      ? []
      : Array.from(this.#entries.keys(), (entryId) => ({ kind: "entry", sessionId, entryId }));
  }

  getParent(): undefined {
    return undefined;
  }

  getTreeItem(element: EntryElement): vscode.TreeItem {
    const entry = this.#entries.get(element.entryId);
    if (entry === undefined) {
      return new vscode.TreeItem(""); // removed during the request; the next refresh drops it
    }
    const words = labelWords(entry, Date.now(), this.#distinctions.get(element.entryId));
    const item = new vscode.TreeItem(words.label);
    item.id = `${element.sessionId}/${element.entryId}`;
    item.description = words.description;
    item.iconPath = new vscode.ThemeIcon("tag");
    item.contextValue = words.context;
    item.accessibilityInformation = { label: words.accessibleText };
    item.command = { command: "sessiond.showInTree", title: "Show in Tree", arguments: [element] };
    return item;
  }

  #scheduleRead(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#readLabels();
    }, READ_DELAY_MS);
  }

  async #readLabels(): Promise<void> {
    const read = ++this.#read;
    const sessionId = this.#current.sessionId;
    let entries: LabeledEntry[] = [];
    if (sessionId !== undefined) {
      try {
        entries = await readLabels((params) => this.#daemon.request("session/labels", params), sessionId);
      } catch {
        return; // the tree view shows the error; the labels are read again after a reconnect
      }
    }
    if (read !== this.#read || sessionId !== this.#current.sessionId) {
      return;
    }
    this.#sessionId = sessionId;
    this.#entries = new Map(entries.map((entry) => [entry.entryId, entry]));
    const added = labelDistinctions(entries, Date.now());
    this.#distinctions = new Map(entries.map(({ entryId }, place) => [entryId, added[place] ?? []]));
    this.#changed.fire(undefined);
    this.#view.description = entries.length === 0 ? "" : String(entries.length);
    void vscode.commands.executeCommand("setContext", "sessiond.labels.shows", entries.length > 0 ? "labels" : "none");
  }
}
