// The daemon as this window has it: the loop that attaches, with VS Code's language client as the connection.
import { randomUUID } from "node:crypto";
import type * as net from "node:net";
import * as vscode from "vscode";
import { ExecuteCommandRequest, type LanguageClient, ProgressType } from "vscode-languageclient/node";
import type { Logs } from "../logs.ts";
import { bothWays, type HelloResult, notifications } from "../protocol.ts";
import { pythonInterpreter, settings } from "../settings.ts";
import { greet } from "./client.ts";
import { type Found, find, type VersionCache } from "./command.ts";
import type {
  Daemon,
  DaemonState,
  MethodName,
  NotificationName,
  NotificationParams,
  ParamsOf,
  ResultOf,
} from "./daemon.ts";
import { sockets } from "./endpoint.ts";
import { DaemonError, daemonError } from "./errors.ts";
import { type Attachment, AttachLoop } from "./loop.ts";
import { greeting, terminal } from "./options.ts";
import { type Places, places } from "./places.ts";
import { ask, named } from "./repeat.ts";
import { registerServerCommands, serverCommandMiddleware } from "./serverCommands.ts";
import { environmentOfDaemon, start } from "./start.ts";

type Handler = (params: never) => void;

/** The daemon listens on a unix socket, which programs on Windows itself cannot reach. */
export const isSupported = process.platform !== "win32";
const UNSUPPORTED =
  "sessiond does not run on Windows itself. Open the folder in WSL, in a container or over SSH: the extension and the daemon are there then.";

/** Milliseconds for a greeting: a daemon that has just been started may be busy with its index. */
const PATIENCE = 30_000;

/** An attachment with the client that requests go through. */
interface Attached extends Attachment {
  readonly client: LanguageClient;
  /** Fails a request that waits for its answer. */
  readonly inFlight: Set<(error: DaemonError) => void>;
}

export class AttachedDaemon implements Daemon {
  readonly clientId = `vscode-${randomUUID()}`;
  readonly #changed = new vscode.EventEmitter<DaemonState>();
  readonly onDidChangeState = this.#changed.event;
  readonly #handlers = new Map<NotificationName, Set<Handler>>();
  readonly #versions: VersionCache = new Map();
  readonly #logs: Logs;
  readonly #loop: AttachLoop;
  readonly #commands: vscode.Disposable;

  constructor(logs: Logs) {
    this.#logs = logs;
    this.#loop = new AttachLoop({
      sockets: () => sockets(settings().socket, whereItIs()),
      endpoint: () => whereItIs().endpoint,
      impossible: () => (isSupported ? undefined : UNSUPPORTED),
      noStart: () => (settings().socket ? "none is started for the setting sessiond.socket" : undefined),
      autoStart: mayStart,
      findCommand: (signal) => this.findCommand(signal),
      start: (command, signal) => {
        logs.log.info(`Starting the daemon: ${command} serve --detach`);
        return start(command, environmentOfDaemon(process.env, settings().home), signal);
      },
      greet: (socket, signal) => this.#greet(socket, signal),
      patience: PATIENCE,
      changed: (state) => this.#tellState(state),
    });
    this.#commands = registerServerCommands((command, parameters) =>
      this.#send(ExecuteCommandRequest.method, { command, arguments: parameters }),
    );
    setContext(this.state);
  }

  get state(): DaemonState {
    return this.#loop.state;
  }

  /** Look for the daemon from now on. */
  begin(): void {
    this.#loop.begin();
  }

  /** Attach, and start the daemon for it. Resolves to how that went. */
  ensureRunning(): Promise<DaemonState> {
    this.#versions.clear();
    return this.#loop.ensureRunning();
  }

  restart(): Promise<void> {
    this.#versions.clear();
    return this.#loop.restart();
  }

  /** Stop the daemon, for everybody, and do not look for it afterwards. Rejects with a `DaemonError`. */
  stop(): Promise<void> {
    return this.#loop.rest(() => this.request("server/stop", {}));
  }

  /** The command that would start the daemon. */
  findCommand(signal: AbortSignal): Promise<Found> {
    const lookup = {
      chosen: settings().path,
      trusted: vscode.workspace.isTrusted,
      folders: folders(),
      interpreter: pythonInterpreter(),
      environment: process.env,
    };
    return find(lookup, this.#versions, signal);
  }

  request<M extends MethodName>(
    method: M,
    params: ParamsOf<M>,
    token?: vscode.CancellationToken,
  ): Promise<ResultOf<M>> {
    return this.#send<ResultOf<M>>(method, params, token);
  }

  onNotification<N extends NotificationName>(
    name: N,
    handler: (params: NotificationParams<N>) => void,
  ): vscode.Disposable {
    const handlers = this.#handlers.get(name) ?? new Set();
    // Each call adds a separate handler: the same function may be registered twice and disposed once.
    const own: Handler = (params) => handler(params);
    this.#handlers.set(name, handlers.add(own));
    return { dispose: () => void handlers.delete(own) };
  }

  dispose(): void {
    void this.close();
  }

  /** End for good; resolves when the connection is closed. */
  async close(): Promise<void> {
    this.#commands.dispose();
    await this.#loop.close();
    this.#handlers.clear();
    this.#changed.dispose();
  }

  async #send<R>(method: string, params: object, token?: vscode.CancellationToken): Promise<R> {
    if (token?.isCancellationRequested) {
      throw new DaemonError("canceled", "The request was canceled before it was sent.");
    }
    const givenUp = new AbortController();
    const listening = token?.onCancellationRequested(() => givenUp.abort());
    const send = (attachment: Attachment, it: object) =>
      this.#sendOver<R>(attachment as Attached, method, it, token);
    try {
      return await ask(this.#loop, named(method, params), send, givenUp.signal);
    } finally {
      listening?.dispose();
    }
  }

  async #sendOver<R>(
    attached: Attached,
    method: string,
    params: object,
    token: vscode.CancellationToken | undefined,
  ): Promise<R> {
    const progress = this.#progressOf(attached.client, params);
    let fail: (error: DaemonError) => void = () => undefined;
    const lost = new Promise<never>((_, reject) => {
      fail = reject;
      attached.inFlight.add(fail);
    });
    try {
      // The library treats any argument after the params, even undefined, as another parameter.
      const canceling = token === undefined ? [] : [token];
      // It forgets what waits when a daemon that hangs is left, so that the end of the connection counts, too.
      return await Promise.race([attached.client.sendRequest<R>(method, params, ...canceling), lost]);
    } catch (error) {
      throw daemonError(error);
    } finally {
      attached.inFlight.delete(fail);
      progress?.dispose();
    }
  }

  #progressOf(client: LanguageClient, params: object): vscode.Disposable | undefined {
    const token = (params as { workDoneToken?: string | number | null }).workDoneToken;
    if (token === undefined || token === null) {
      return undefined;
    }
    return client.onProgress(new ProgressType<unknown>(), token, (value) =>
      this.#notify(bothWays.progress, { token, value }),
    );
  }

  async #greet(socket: net.Socket, signal: AbortSignal): Promise<Attached> {
    const greeted = await greet(
      socket,
      {
        documentSelector: [{ language: "jsonl", scheme: "file" }],
        initializationOptions: { sessiond: greeting(this.clientId, here(), settings().lsp) },
        middleware: serverCommandMiddleware,
        outputChannel: this.#logs.log,
        synchronize: { configurationSection: "sessiond.lsp" },
        traceOutputChannel: this.#logs.trace,
      },
      this.#logs.log,
      (client) => {
        for (const name of Object.values(notifications)) {
          client.onNotification(name, (params: unknown) => this.#notify(name, params));
        }
      },
      signal,
    );
    const { capabilities, serverInfo } = greeted.client.initializeResult ?? {};
    const handshake = capabilities?.experimental?.sessiond as HelloResult | undefined;
    if (handshake === undefined) {
      await greeted.end();
      throw new DaemonError("invalidRequest", "Who answers at the socket is not sessiond.");
    }
    const { epoch, methods } = handshake;
    const inFlight = new Set<(error: DaemonError) => void>();
    void greeted.ended.then(() => {
      for (const fail of [...inFlight]) {
        fail(new DaemonError("disconnected", "The connection to the daemon ended before the answer."));
      }
    });
    return { ...greeted, inFlight, facts: { version: serverInfo?.version ?? "?", epoch, methods } };
  }

  #notify(name: NotificationName, params: unknown): void {
    for (const handler of [...(this.#handlers.get(name) ?? [])]) {
      try {
        handler(params as never);
      } catch (error) {
        this.#logs.log.error(`${name} was not taken in`, error);
      }
    }
  }

  #tellState(state: DaemonState): void {
    this.#logs.log.info(described(state));
    setContext(state);
    this.#changed.fire(state);
  }
}

/** Whether the daemon may be started automatically. */
export function mayStart(): boolean {
  return settings().autoStart && !process.env["SESSIOND_NO_AUTOSTART"];
}

/** Where the daemon's files are, by the settings of this moment. */
export function whereItIs(): Places {
  return places(settings().home, process.env);
}

/** For conditions in package.json. */
function setContext(state: DaemonState): void {
  void vscode.commands.executeCommand("setContext", "sessiond.state", isSupported ? state.kind : "unsupported");
}

function folders(): string[] {
  const local = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  return local.map(({ uri }) => uri.fsPath);
}

function here() {
  const { workspaceFile, workspaceFolders } = vscode.workspace;
  const workspace = workspaceFile ?? workspaceFolders?.[0]?.uri;
  return terminal(workspace?.toString(), vscode.env.sessionId, folders()[0], process.pid);
}

/** One line for a log. */
function described(state: DaemonState): string {
  switch (state.kind) {
    case "attached":
      return `Attached to sessiond ${state.version} at ${state.socket}`;
    case "offline":
    case "missing":
      return `${state.kind}: ${state.reason}`;
    case "mismatch":
      return `mismatch: this extension needs ${state.ours}, there is ${state.theirs}`;
    default:
      return state.kind;
  }
}
