// The transcript of one session in an editor tab. The daemon renders the document and the rows, so they match. The
// extension makes the nonce, forwards messages, and loads missed rows after a reconnect.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import { DaemonError } from "../daemon/errors.ts";
import type { ViewPageResult } from "../protocol.ts";
import { type Act, parseMessage } from "./messages.ts";
import { Feed } from "./feed.ts";

/** The daemon's command that returns a page; an older daemon does not have it. */
const DOCUMENT = "view/document";

export class TranscriptPanel implements vscode.Disposable {
  readonly #panel: vscode.WebviewPanel;
  readonly #daemon: Daemon;
  readonly #sessionId: string;
  readonly #feed: Feed;
  readonly #nonce = randomBytes(16).toString("base64url");
  readonly #subscriptions: vscode.Disposable[];
  /** The entry to show once the document is there. */
  #entryToReveal: string | undefined;
  #ready = false;
  #disposed = false;
  #document = "";

  constructor(
    panel: vscode.WebviewPanel,
    daemon: Daemon,
    sessionId: string,
    act: (act: Act, entryId: string) => void,
  ) {
    this.#panel = panel;
    this.#daemon = daemon;
    this.#sessionId = sessionId;
    panel.webview.options = { enableScripts: true, localResourceRoots: [] };
    this.#feed = new Feed({
      ask: (after) => daemon.request("view/page", after === undefined ? { sessionId } : { sessionId, after }),
      give: (part, first) => this.#give(part, first),
      failed: (error) => this.#failed(error),
    });
    const about = (of: { sessionId: string }) => of.sessionId === sessionId;
    const wake = (of: { sessionId: string }) => about(of) && this.#feed.wake();
    this.#subscriptions = [
      panel.webview.onDidReceiveMessage((message) => {
        const received = parseMessage(message);
        if (received?.kind === "ready") {
          this.#begin();
        } else if (received?.kind === "act") {
          act(received.act, received.entryId);
        }
      }),
      daemon.onDidChangeState(() => void this.#attach()),
      daemon.onNotification("session/appended", wake),
      daemon.onNotification("session/restored", ({ session }) => about(session) && void this.#attach()),
      daemon.onNotification("session/lagged", (lagged) => about(lagged) && void this.#attach()),
      daemon.onNotification("session/deleted", (deleted) => about(deleted) && this.#say("in the trash")),
    ];
    void this.#attach();
  }

  /** Bring the panel, and an entry in it, before the reader. */
  show(entryId?: string): void {
    this.#panel.reveal();
    if (entryId === undefined) {
      return;
    }
    this.#entryToReveal = entryId;
    if (this.#ready) {
      this.#reveal();
    }
  }

  dispose(): void {
    this.#disposed = true;
    this.#feed.end();
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  /** A daemon is there, or there again: hear of the session, and go on where we were. */
  async #attach(): Promise<void> {
    const { state } = this.#daemon;
    if (state.kind !== "attached") {
      this.#say("away");
      if (this.#document === "") {
        this.#panel.webview.html = words("sessiond is not attached. The transcript appears when it is.");
      }
      return;
    }
    if (!state.methods.includes(DOCUMENT)) {
      this.#document = "";
      this.#panel.webview.html = words("This daemon is too old to show transcripts here. Update sessiond.");
      return;
    }
    try {
      const { html } = await this.#daemon.request(DOCUMENT, { nonce: this.#nonce });
      await this.#daemon.request("session/subscribe", { sessionId: this.#sessionId });
      if (this.#disposed) {
        return;
      }
      if (html === this.#document) {
        this.#say("live");
        this.#feed.wake();
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

  #begin(): void {
    this.#ready = true;
    this.#feed.begin();
    this.#say("live");
    this.#reveal();
  }

  #reveal(): void {
    if (this.#entryToReveal !== undefined) {
      void this.#panel.webview.postMessage({ kind: "reveal", entryId: this.#entryToReveal });
      this.#entryToReveal = undefined;
    }
  }

  #give(part: ViewPageResult, first: number): void {
    this.#panel.title = part.session.title ?? `Session ${this.#sessionId.slice(0, 8)}`;
    void this.#panel.webview.postMessage({ kind: "rows", first, ...part });
  }

  #failed(error: unknown): void {
    if (this.#disposed) {
      return;
    }
    const { kind, message } = error instanceof DaemonError ? error : new DaemonError("internal", String(error));
    if (kind === "notAttached" || kind === "disconnected") {
      this.#say("away"); // and when it is there again, `#attach` goes on
    } else if (kind === "cursorExpired") {
      this.#document = ""; // the session's file was replaced: a new document is given its rows from the first one on
      void this.#attach();
    } else if (this.#document === "") {
      this.#panel.webview.html = words(message);
    } else {
      this.#say(message);
    }
  }

  #say(text: string): void {
    void this.#panel.webview.postMessage({ kind: "say", text });
  }
}

/** A static document with a message. It runs no scripts. */
function words(text: string): string {
  const safe = text.replace(/[&<>"]/g, (sign) => `&#${sign.codePointAt(0)};`);
  const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'">`;
  return `<!doctype html><html lang="en"><head>${policy}<title>Transcript</title></head><body><p>${safe}</p></body></html>`;
}
