// The document about the space that sessions take. It is read when the command is run, and when a window is restored.
import * as vscode from "vscode";
import { withProgress } from "./commands/progress.ts";
import type { Daemon } from "./daemon/daemon.ts";
import { type StorageDocument, storageDocument } from "./model/storageDocument.ts";

const SCHEME = "sessiond-storage";
const ADDRESS = vscode.Uri.from({ scheme: SCHEME, path: "/Storage.md" });

export class StorageReport implements vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider, vscode.Disposable {
  readonly #daemon: Daemon;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #subscription: vscode.Disposable;
  #document: StorageDocument | undefined;

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
    this.#subscription = vscode.Disposable.from(
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.languages.registerDocumentLinkProvider({ scheme: SCHEME }, this),
    );
  }

  dispose(): void {
    this.#subscription.dispose();
  }

  /** Measure anew, and show the document. */
  async show(): Promise<void> {
    this.#document = await withProgress(this.#daemon, "Measuring the space of sessions", (workDoneToken, cancel) =>
      this.#read(cancel, workDoneToken),
    );
    this.#changed.fire(ADDRESS);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(ADDRESS), { preview: true });
  }

  async provideTextDocumentContent(_: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    this.#document ??= await this.#read(token);
    return this.#document.text;
  }

  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    return (this.#document?.sessions ?? [])
      .filter(({ line }) => line < document.lineCount)
      .map(({ line, sessionId }) => {
        const { range, text } = document.lineAt(line);
        const shown = range.with(range.start.translate(0, text.lastIndexOf(" ") + 1));
        const query = encodeURIComponent(JSON.stringify([{ sessionId }]));
        const link = new vscode.DocumentLink(shown, vscode.Uri.parse(`command:sessiond.openSession?${query}`));
        link.tooltip = "Show in Tree";
        return link;
      });
  }

  async #read(cancel: vscode.CancellationToken, workDoneToken?: string): Promise<StorageDocument> {
    const report = await this.#daemon.request("storage/report", {}, cancel);
    const params = workDoneToken === undefined ? {} : { workDoneToken };
    const { agents } = await this.#daemon.request("storage/agents", params, cancel);
    return storageDocument(report, agents, Date.now());
  }
}
