// Documents that the daemon renders: an entry, the path to it, its context, a comparison. They are reloaded when the
// session changes.
import * as vscode from "vscode";
import type { Daemon } from "./daemon/daemon.ts";
import { type Address, addressOf, pathOf, SCHEME } from "./model/addresses.ts";
import { comparedDocument } from "./model/compared.ts";
import { contextDocument } from "./model/contextDocument.ts";

/** Between the first of several changes and the reload. */
const RELOAD_DELAY_MS = 200;

export class Preview implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #daemon: Daemon;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #subscriptions: vscode.Disposable[];
  #stale: ((address: Address) => boolean)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
    this.#subscriptions = [
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      new vscode.Disposable(() => clearTimeout(this.#timer)),
      daemon.onDidChangeState(({ kind }) => {
        if (kind === "attached") {
          this.#scheduleReload(() => true);
        }
      }),
      daemon.onNotification("session/appended", ({ sessionId, items }) => {
        // Of a path, only labels can change. The document of an entry also lists its children.
        const labels = items.some(({ entry: { type } }) => type === "label");
        this.#scheduleReload((address) => address.sessionId === sessionId && (labels || address.kind === "entry"));
      }),
      daemon.onNotification("session/restored", ({ session }) =>
        this.#scheduleReload((address) => address.sessionId === session.sessionId),
      ),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  async provideTextDocumentContent(uri: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    const address = addressOf(uri.path);
    if (address === undefined) {
      throw new Error("The address does not name an entry of a session.");
    }
    return this.#text(address, token);
  }

  async #text(address: Address, token: vscode.CancellationToken): Promise<string> {
    const { sessionId } = address;
    switch (address.kind) {
      case "entry":
        return (await this.#daemon.request("view/entry", { sessionId, entryId: address.entryId }, token)).text;
      case "path": {
        const params = { sessionId, leafId: address.entryId, format: "markdown" } as const;
        return (await this.#daemon.request("session/export", params, token)).text ?? "";
      }
      case "context": {
        const params = { sessionId, leafId: address.entryId, explain: true, resolveBlobs: false };
        return contextDocument(await this.#daemon.request("session/context", params, token));
      }
      case "compare": {
        const { leftId, rightId } = address;
        return comparedDocument(await this.#daemon.request("session/compare", { sessionId, leftId, rightId }, token));
      }
    }
  }

  /** Reload the open documents that match. */
  #scheduleReload(isStale: (address: Address) => boolean): void {
    this.#stale.push(isStale);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const stale = this.#stale;
      this.#stale = [];
      for (const { uri } of vscode.workspace.textDocuments) {
        const address = uri.scheme === SCHEME ? addressOf(uri.path) : undefined;
        if (address !== undefined && stale.some((each) => each(address))) {
          this.#changed.fire(uri);
        }
      }
    }, RELOAD_DELAY_MS);
  }
}

export function uriOf(address: Address): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: pathOf(address) });
}

/** Open a document in a preview tab. */
export async function openDocument(address: Address): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uriOf(address));
  await vscode.window.showTextDocument(document, { preview: true });
}
