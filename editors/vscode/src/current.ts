// The current session: that of the active editor's file, else the one that was opened last. The extension subscribes
// to it while it is shown, and opens it again after a reconnect.
import * as vscode from "vscode";
import type { Daemon } from "./daemon/daemon.ts";
import { daemonError } from "./daemon/errors.ts";
import { titleOf } from "./model/words.ts";
import type { OpenParams, SessionInfo } from "./protocol.ts";
import { isSession } from "./sessionFiles.ts";

export type Shown =
  | { readonly kind: "none" }
  | { readonly kind: "session"; readonly session: SessionInfo }
  /** The session was deleted while it was shown, or could not be opened. */
  | { readonly kind: "unavailable"; readonly sessionId: string; readonly name: string; readonly trashed: boolean };

const STORAGE_KEY = "sessiond.session";

export class Current implements vscode.Disposable {
  readonly #daemon: Daemon;
  readonly #memory: vscode.Memento;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #opened = new vscode.EventEmitter<SessionInfo>();
  /** Another session is shown, or the shown one has changed. */
  readonly onDidChange = this.#changed.event;
  /** The session was opened, for the first time or again. Its tree may have changed since it was read. */
  readonly onDidOpen = this.#opened.event;
  readonly #subscriptions: vscode.Disposable[];
  readonly #held = new Set<string>();
  #shown: Shown = { kind: "none" };
  #opening = 0;
  #inFlight = 0;
  readonly #superseded: SessionInfo[] = [];

  constructor(daemon: Daemon, memory: vscode.Memento) {
    this.#daemon = daemon;
    this.#memory = memory;
    this.#subscriptions = [
      this.#changed,
      this.#opened,
      daemon.onDidChangeState(({ kind }) => void (kind === "attached" && this.#attached())),
      daemon.onNotification("session/changed", ({ session }) => this.#update(session)),
      daemon.onNotification("session/created", ({ session }) => this.#update(session)),
      daemon.onNotification("session/deleted", ({ sessionId }) => {
        if (this.sessionId === sessionId) {
          this.#setUnavailable(sessionId, true);
        }
      }),
      daemon.onNotification("session/restored", ({ session }) => {
        if (this.#shown.kind === "unavailable" && this.#shown.sessionId === session.sessionId) {
          void this.#tryOpen({ sessionId: session.sessionId });
        }
      }),
      daemon.onNotification("session/lagged", ({ sessionId }) => {
        if (this.sessionId === sessionId) {
          void this.#tryOpen({ sessionId });
        }
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => this.#followEditor(editor)),
      vscode.workspace.onDidOpenTextDocument((document) => {
        const editor = vscode.window.activeTextEditor;
        if (editor?.document === document) {
          this.#followEditor(editor); // its language is known only now
        }
      }),
    ];
    if (daemon.state.kind === "attached") {
      this.#attached();
    }
  }

  get shown(): Shown {
    return this.#shown;
  }

  get session(): SessionInfo | undefined {
    return this.#shown.kind === "session" ? this.#shown.session : undefined;
  }

  get sessionId(): string | undefined {
    return this.session?.sessionId;
  }

  /** Show a session. Rejects with a `DaemonError` if it cannot be opened; then the former session stays. */
  async open(which: OpenParams): Promise<SessionInfo> {
    const opening = ++this.#opening;
    this.#inFlight += 1;
    try {
      const { session } = await this.#daemon.request("session/open", which);
      if (opening === this.#opening) {
        this.#show(session);
      } else {
        this.#superseded.push(session); // another session was requested meanwhile
      }
      return session;
    } finally {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) {
        // Not earlier: a request in flight may open the same session, and closing it would close that, too.
        this.#superseded.splice(0).forEach((session) => this.#release(session));
      }
    }
  }

  /** Show a session that a response has opened already, such as a fork. */
  show(session: SessionInfo): void {
    this.#opening += 1;
    this.#show(session);
  }

  /** Keep a session open and subscribed while another one is shown, until the result is disposed. */
  hold(sessionId: string): vscode.Disposable {
    this.#held.add(sessionId);
    return new vscode.Disposable(() => {
      if (this.#held.delete(sessionId) && this.sessionId !== sessionId && this.#daemon.state.kind === "attached") {
        // This window only subscribed to it. Other clients that have it open are not affected.
        this.#daemon.request("session/unsubscribe", { sessionId }).catch(() => undefined);
      }
    });
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  #show(session: SessionInfo): void {
    const before = this.session;
    this.#shown = { kind: "session", session };
    if (before !== undefined && before.sessionId !== session.sessionId) {
      this.#release(before);
    }
    void this.#memory.update(STORAGE_KEY, session.sessionId);
    this.#changed.fire();
    this.#opened.fire(session);
  }

  /** Unsubscribe from a session. A draft is not closed: the daemon trashes a draft that no client has open. */
  #release(session: SessionInfo): void {
    const isShown = session.sessionId === this.sessionId;
    if (isShown || this.#held.has(session.sessionId) || this.#daemon.state.kind !== "attached") {
      return; // this window has one subscription to a session, and a transcript may need it
    }
    const { sessionId } = session;
    const method = session.isDraft ? "session/unsubscribe" : "session/close";
    this.#daemon.request(method, { sessionId }).catch(() => undefined); // it is closed already
  }

  async #tryOpen(which: OpenParams): Promise<void> {
    const target = this.#shown;
    try {
      await this.open(which);
    } catch (thrown) {
      const error = daemonError(thrown);
      if (this.#shown !== target || target.kind !== "session" || which.sessionId !== target.session.sessionId) {
        return; // another session could not be opened, such as that of an editor: the shown one stays
      }
      if (error.kind === "sessionTrashed") {
        this.#setUnavailable(target.session.sessionId, true);
      } else if (error.kind === "sessionNotFound") {
        this.#setUnavailable(target.session.sessionId, false);
      }
      // After any other error, such as a lost connection, the next attach opens it again.
    }
  }

  #attached(): void {
    const sessionId = this.sessionId ?? this.#memory.get<string>(STORAGE_KEY);
    if (this.session === undefined && this.#followEditor(vscode.window.activeTextEditor)) {
      return;
    }
    if (sessionId !== undefined && this.#shown.kind !== "unavailable") {
      void this.#tryOpen({ sessionId });
    }
  }

  /** Show the session of an editor if its file is one. Returns whether it is. */
  #followEditor(editor: vscode.TextEditor | undefined): boolean {
    const document = editor?.document;
    if (
      document === undefined ||
      document.uri.scheme !== "file" ||
      document.languageId !== "jsonl" ||
      this.#daemon.state.kind !== "attached" ||
      !vscode.workspace.getConfiguration("sessiond").get("tree.followEditor", true)
    ) {
      return false;
    }
    const line = (number: number): string => (number < document.lineCount ? document.lineAt(number).text : "");
    if (!isSession(line(0), line(1))) {
      return false;
    }
    if (this.session?.path !== document.uri.fsPath) {
      void this.#tryOpen({ path: document.uri.fsPath });
    }
    return true;
  }

  #update(session: SessionInfo): void {
    if (this.sessionId === session.sessionId) {
      this.#shown = { kind: "session", session };
      this.#changed.fire();
    }
  }

  #setUnavailable(sessionId: string, trashed: boolean): void {
    this.#opening += 1;
    const name = this.session === undefined ? sessionId : titleOf(this.session);
    this.#shown = { kind: "unavailable", sessionId, name, trashed };
    this.#changed.fire();
  }
}
