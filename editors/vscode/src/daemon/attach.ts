// The daemon of this window: the connection loop, with VS Code's language client as the connection.
import { randomUUID } from "node:crypto";
import type * as net from "node:net";
import * as vscode from "vscode";
import { ExecuteCommandRequest, type LanguageClient, ProgressType } from "vscode-languageclient/node";
import type { Logs } from "../logs.ts";
import { bothWays, type HelloResult, notifications } from "../protocol.ts";
import { pythonInterpreter, settings } from "../settings.ts";
import { handshake } from "./client.ts";
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
import { handshakeOptions, terminal } from "./handshakeOptions.ts";
import { type DaemonPaths, daemonPaths } from "./paths.ts";
import { prepare, sendWithRetry } from "./retry.ts";
import { registerServerCommands, serverCommandMiddleware } from "./serverCommands.ts";
import { daemonEnvironment, start } from "./start.ts";

type Handler = (params: never) => void;

/** The daemon listens on a Unix socket, which programs on Windows itself cannot reach. */
export const isSupported = process.platform !== "win32";
const UNSUPPORTED =
  "sessiond does not run on Windows itself. Open the folder in WSL, in a container or over SSH.";

/** A daemon that has just been started may be busy with its index. */
const HANDSHAKE_TIMEOUT_MS = 30_000;

/** An attachment with the client that requests go through. */
interface Attached extends Attachment {
  readonly client: LanguageClient;
  /** Functions that reject the requests in flight. */
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
      sockets: () => sockets(settings().socket, currentPaths()),
      endpoint: () => currentPaths().endpoint,
      unsupportedReason: () => (isSupported ? undefined : UNSUPPORTED),
      noStartReason: () => (settings().socket ? "it is not started automatically while sessiond.socket is set" : undefined),
      autoStart: mayStart,
      findCommand: (signal) => this.findCommand(signal),
      start: (command, signal) => {
        logs.log.info(`Starting the daemon: ${command} serve --detach`);
        return start(command, daemonEnvironment(process.env, settings().home), signal);
      },
      handshake: (socket, signal) => this.#handshake(socket, signal),
      handshakeTimeoutMs: HANDSHAKE_TIMEOUT_MS,
      changed: (state) => this.#stateChanged(state),
    });
    this.#commands = registerServerCommands((command, parameters) =>
      this.#send(ExecuteCommandRequest.method, { command, arguments: parameters }),
    );
    setContext(this.state);
  }

  get state(): DaemonState {
    return this.#loop.state;
  }

  /** Connect to the daemon, and keep trying. */
  begin(): void {
    this.#loop.begin();
  }

  /** Attach, and start the daemon if it does not run. Resolves to the state after the attempt. */
  ensureRunning(): Promise<DaemonState> {
    this.#versions.clear();
    return this.#loop.ensureRunning();
  }

  restart(): Promise<void> {
    this.#versions.clear();
    return this.#loop.restart();
  }

  /** Stop the daemon for all clients, and do not reconnect. Rejects with a `DaemonError`. */
  stop(): Promise<void> {
    return this.#loop.stopDaemon(() => this.request("server/stop", {}));
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

  /** Close the connection and do not reconnect. Resolves when it is closed. */
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
    const cancellation = new AbortController();
    const subscription = token?.onCancellationRequested(() => cancellation.abort());
    const send = (attachment: Attachment, prepared: object) =>
      this.#sendOver<R>(attachment as Attached, method, prepared, token);
    try {
      return await sendWithRetry(this.#loop, prepare(method, params), send, cancellation.signal);
    } finally {
      subscription?.dispose();
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
      // The library does not settle requests if the connection to a hanging daemon is dropped, so the end of the
      // connection rejects them here.
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

  async #handshake(socket: net.Socket, signal: AbortSignal): Promise<Attached> {
    const connected = await handshake(
      socket,
      {
        documentSelector: [{ language: "jsonl", scheme: "file" }],
        initializationOptions: { sessiond: handshakeOptions(this.clientId, thisTerminal(), settings().lsp) },
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
    const { capabilities, serverInfo } = connected.client.initializeResult ?? {};
    const hello = capabilities?.experimental?.sessiond as HelloResult | undefined;
    if (hello === undefined) {
      await connected.end();
      throw new DaemonError("invalidRequest", "The process at the socket is not sessiond.");
    }
    const { epoch, methods } = hello;
    const inFlight = new Set<(error: DaemonError) => void>();
    void connected.ended.then(() => {
      for (const fail of [...inFlight]) {
        fail(new DaemonError("disconnected", "The connection to the daemon ended before the response."));
      }
    });
    return { ...connected, inFlight, facts: { version: serverInfo?.version ?? "?", epoch, methods } };
  }

  #notify(name: NotificationName, params: unknown): void {
    for (const handler of [...(this.#handlers.get(name) ?? [])]) {
      try {
        handler(params as never);
      } catch (error) {
        this.#logs.log.error(`A handler of ${name} failed`, error);
      }
    }
  }

  #stateChanged(state: DaemonState): void {
    this.#logs.log.info(stateLine(state));
    setContext(state);
    this.#changed.fire(state);
  }
}

/** Whether the daemon may be started automatically. */
export function mayStart(): boolean {
  return settings().autoStart && !process.env["SESSIOND_NO_AUTOSTART"];
}

/** The paths of the daemon's files with the current settings. */
export function currentPaths(): DaemonPaths {
  return daemonPaths(settings().home, process.env);
}

/** For conditions in package.json. */
function setContext(state: DaemonState): void {
  void vscode.commands.executeCommand("setContext", "sessiond.state", isSupported ? state.kind : "unsupported");
}

function folders(): string[] {
  const local = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  return local.map(({ uri }) => uri.fsPath);
}

function thisTerminal() {
  const { workspaceFile, workspaceFolders } = vscode.workspace;
  const workspace = workspaceFile ?? workspaceFolders?.[0]?.uri;
  return terminal(workspace?.toString(), vscode.env.sessionId, folders()[0], process.pid);
}

/** One line for a log. */
function stateLine(state: DaemonState): string {
  switch (state.kind) {
    case "attached":
      return `Attached to sessiond ${state.version} at ${state.socket}`;
    case "offline":
    case "missing":
      return `${state.kind}: ${state.reason}`;
    case "mismatch":
      return `mismatch: this extension needs ${state.needed}, found ${state.found}`;
    default:
      return state.kind;
  }
}
