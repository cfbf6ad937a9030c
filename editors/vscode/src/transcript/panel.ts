// The transcript of one session in an editor tab. The daemon renders the document and the rows, so they match. The
// extension makes the nonce, forwards messages, and loads missed rows after a reconnect.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import { DaemonError } from "../daemon/errors.ts";
import { fit, oneLine } from "../model/text.ts";
import type { ViewPageResult } from "../protocol.ts";
import { type Act, parseMessage } from "./messages.ts";
import { RowFeed } from "./rowFeed.ts";

/** The surroundings of a panel. */
export interface PanelHost {
  /** The user pressed a button of an entry. */
  act(act: Act, entryId: string): void;
  /** The user scrolled to an entry or clicked it. */
  at(entryId: string): void;
  /** Whether the side bar shows the Tree; then the document needs none of its own. */
  treeIsVisible(): boolean;
}

/** The daemon's command that returns a page; an older daemon does not have it. */
const DOCUMENT = "view/document";
/** The daemon's command that returns the rows to show first; an older daemon does not have it. */
const PATH = "view/path";
/** More than a window shows, and few enough to arrive at once. */
const PATH_ROWS = 40;
const MAX_TITLE_LENGTH = 80;

export class TranscriptPanel implements vscode.Disposable {
  readonly #panel: vscode.WebviewPanel;
  readonly #daemon: Daemon;
  readonly #sessionId: string;
  readonly #host: PanelHost;
  readonly #feed: RowFeed;
  readonly #nonce = randomBytes(16).toString("base64url");
  readonly #subscriptions: vscode.Disposable[];
  /** The entry to show when the document is loaded. */
  #entryToReveal: string | undefined;
  #ready = false;
  #disposed = false;
  #document = "";
  /** The first prompt names a session without a title. */
  #prompt: string | undefined;

  constructor(
    panel: vscode.WebviewPanel,
    daemon: Daemon,
    sessionId: string,
    host: PanelHost,
  ) {
    this.#panel = panel;
    this.#host = host;
    this.#daemon = daemon;
    this.#sessionId = sessionId;
    panel.webview.options = { enableScripts: true, localResourceRoots: [] };
    this.#feed = new RowFeed({
      request: (after) => daemon.request("view/page", after === undefined ? { sessionId } : { sessionId, after }),
      send: (part, first) => this.#send(part, first),
      failed: (error) => this.#failed(error),
    });
    const about = (of: { sessionId: string }) => of.sessionId === sessionId;
    const update = (of: { sessionId: string }) => about(of) && this.#feed.update();
    this.#subscriptions = [
      panel.webview.onDidReceiveMessage((message) => {
        const received = parseMessage(message);
        if (received?.kind === "ready") {
          void this.#begin();
        } else if (received?.kind === "act") {
          host.act(received.act, received.entryId);
        } else if (received?.kind === "at" && panel.visible) {
          host.at(received.entryId);
        }
      }),
      daemon.onDidChangeState(() => void this.#attach()),
      daemon.onNotification("session/appended", update),
      daemon.onNotification("session/restored", ({ session }) => about(session) && void this.#attach()),
      daemon.onNotification("session/lagged", (lagged) => about(lagged) && void this.#attach()),
      daemon.onNotification("session/deleted", (deleted) => about(deleted) && this.#showStatus("in the trash")),
    ];
    void this.#attach();
  }

  /** Show the panel, and an entry in it. */
  show(preserveFocus: boolean, entryId?: string): void {
    if (!preserveFocus || !this.#panel.visible) {
      this.#panel.reveal(undefined, preserveFocus);
    }
    if (entryId === undefined) {
      return;
    }
    this.#entryToReveal = entryId;
    if (this.#ready) {
      void this.#showFirst();
    }
  }

  /** Tell the document whether the side bar shows the Tree. */
  showTreeVisibility(): void {
    void this.#panel.webview.postMessage({ kind: "tree", visible: this.#host.treeIsVisible() });
  }

  dispose(): void {
    this.#disposed = true;
    this.#feed.end();
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  /** After each attach: load the document, subscribe to the session, and request the rows that were missed. */
  async #attach(): Promise<void> {
    const { state } = this.#daemon;
    if (state.kind !== "attached") {
      this.#showStatus("not attached");
      if (this.#document === "") {
        this.#panel.webview.html = messageDocument("sessiond is not attached. The transcript appears when it is.");
      }
      return;
    }
    if (!state.methods.includes(DOCUMENT)) {
      this.#document = "";
      this.#panel.webview.html = messageDocument("This daemon is too old to show transcripts here. Update sessiond.");
      return;
    }
    try {
      const { html } = await this.#daemon.request(DOCUMENT, { nonce: this.#nonce });
      await this.#daemon.request("session/subscribe", { sessionId: this.#sessionId });
      if (this.#disposed) {
        return;
      }
      if (html === this.#document) {
        this.#showStatus("live");
        this.#feed.update();
      } else {
        // Another daemon may render differently. The new document sends `ready` and receives all rows again.
        this.#ready = false;
        this.#feed.end();
        this.#document = this.#panel.webview.html = html;
      }
    } catch (error) {
      this.#failed(error);
    }
  }

  /** The document is empty: send the rows around the leaf or the entry to reveal, and then all rows. */
  async #begin(): Promise<void> {
    this.#ready = true;
    this.showTreeVisibility();
    this.#showStatus("live");
    this.#feed.end();
    const document = this.#document;
    await this.#showFirst();
    if (!this.#disposed && this.#ready && document === this.#document) {
      this.#feed.begin();
    }
  }

  /** Show the entry to reveal, or else the leaf. Until all rows are sent, those around it are. */
  async #showFirst(): Promise<void> {
    const entryId = this.#entryToReveal;
    this.#entryToReveal = undefined;
    if (entryId !== undefined) {
      void this.#panel.webview.postMessage({ kind: "reveal", entryId });
    }
    const { state } = this.#daemon;
    if (this.#feed.isComplete || state.kind !== "attached" || !state.methods.includes(PATH)) {
      return;
    }
    try {
      const around = entryId === undefined ? {} : { entryId };
      const path = await this.#daemon.request(PATH, { sessionId: this.#sessionId, limit: PATH_ROWS, ...around });
      void this.#panel.webview.postMessage({ kind: "path", ...path });
    } catch {
      // All rows follow, and reading them tells what is wrong.
    }
  }

  #send(part: ViewPageResult, first: number): void {
    this.#prompt ??= part.rows.find(({ role, preview }) => role === "user" && preview !== "")?.preview;
    const name = oneLine(part.session.title) || oneLine(this.#prompt);
    this.#panel.title = fit(name, MAX_TITLE_LENGTH) || `Session ${this.#sessionId.slice(0, 8)}`;
    void this.#panel.webview.postMessage({ kind: "rows", first, ...part });
  }

  #failed(error: unknown): void {
    if (this.#disposed) {
      return;
    }
    const { kind, message } = error instanceof DaemonError ? error : new DaemonError("internal", String(error));
    if (kind === "notAttached" || kind === "disconnected") {
      this.#showStatus("not attached"); // the next attach continues
    } else if (kind === "cursorExpired") {
      this.#document = ""; // the session has another log: a new document receives all rows
      void this.#attach();
    } else if (this.#document === "") {
      this.#panel.webview.html = messageDocument(message);
    } else {
      this.#showStatus(message);
    }
  }

  #showStatus(text: string): void {
    void this.#panel.webview.postMessage({ kind: "status", text });
  }
}

/** A static document with a message. It runs no scripts. */
function messageDocument(text: string): string {
  const safe = text.replace(/[&<>"]/g, (sign) => `&#${sign.codePointAt(0)};`);
  const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'">`;
  return `<!doctype html><html lang="en"><head>${policy}<title>Transcript</title></head><body><p>${safe}</p></body></html>`;
}
