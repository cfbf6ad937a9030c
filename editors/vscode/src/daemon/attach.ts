// The one connection of this window: looked for again and again, a new LSP client each time.
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { type LanguageClient, type LanguageClientOptions, ProgressType } from "vscode-languageclient/node";
import { bothWays, type Handshake, notifications, protocolVersion } from "../protocol.ts";
import { pauses } from "./backoff.ts";
import { ended, greeted } from "./client.ts";
import type {
  Daemon,
  DaemonState,
  MethodName,
  NotificationName,
  NotificationParams,
  ParamsOf,
  ResultOf,
} from "./daemon.ts";
import { dial } from "./dial.ts";
import { readEndpoint, sockets } from "./endpoint.ts";
import { DaemonError, daemonError } from "./errors.ts";
import { places } from "./places.ts";

type Handler = (params: never) => void;

export class AttachedDaemon implements Daemon {
  readonly clientId = `vscode-${randomUUID()}`;
  readonly #changed = new vscode.EventEmitter<DaemonState>();
  readonly onDidChangeState = this.#changed.event;
  readonly #handlers = new Map<NotificationName, Set<Handler>>();
  readonly #log: vscode.LogOutputChannel;
  #state: DaemonState = { kind: "connecting" };
  #client: LanguageClient | undefined;
  #disposed = false;

  constructor(log: vscode.LogOutputChannel) {
    this.#log = log;
    void this.#run();
  }

  get state(): DaemonState {
    return this.#state;
  }

  async request<M extends MethodName>(
    method: M,
    params: ParamsOf<M>,
    token?: vscode.CancellationToken,
  ): Promise<ResultOf<M>> {
    const client = this.#client;
    if (client === undefined) {
      throw new DaemonError("notAttached", "sessiond is not attached.");
    }
    const progress = this.#progressOf(client, params);
    try {
      return await client.sendRequest<ResultOf<M>>(method, params, token);
    } catch (error) {
      throw daemonError(error);
    } finally {
      progress?.dispose();
    }
  }

  onNotification<N extends NotificationName>(
    name: N,
    handler: (params: NotificationParams<N>) => void,
  ): vscode.Disposable {
    const handlers = this.#handlers.get(name) ?? new Set();
    this.#handlers.set(name, handlers.add(handler));
    return new vscode.Disposable(() => handlers.delete(handler));
  }

  dispose(): void {
    this.#disposed = true;
    void this.#client?.dispose();
    this.#changed.dispose();
  }

  #progressOf(client: LanguageClient, params: object): vscode.Disposable | undefined {
    const token = (params as { workDoneToken?: string | number | null }).workDoneToken;
    if (token === undefined || token === null) {
      return undefined;
    }
    return client.onProgress(new ProgressType<never>(), token, (value) =>
      this.#tell(bothWays.progress, { token, value } as never),
    );
  }

  async #run(): Promise<void> {
    let waits = pauses();
    while (!this.#disposed) {
      try {
        const client = await this.#attached();
        waits = pauses();
        await ended(client);
        this.#client = undefined;
        this.#become({ kind: "offline", reason: "The connection has ended." });
      } catch (error) {
        this.#become({ kind: "offline", reason: (error as Error).message });
      }
      await new Promise((resolve) => setTimeout(resolve, waits.next().value));
    }
  }

  async #attached(): Promise<LanguageClient> {
    const settings = vscode.workspace.getConfiguration("sessiond");
    const where = places(settings.get("home", ""), process.env);
    const { socket, path } = await dial(sockets(settings.get("socket", ""), where));
    this.#become({ kind: "connecting" });
    const client = await greeted(socket, this.#options());
    const pid = readEndpoint(where.endpoint)?.pid;
    this.#client = client;
    const handshake = client.initializeResult?.capabilities.experimental?.sessiond as Handshake;
    for (const name of Object.values(notifications)) {
      client.onNotification(name, (params: unknown) => this.#tell(name, params as never));
    }
    this.#become({
      kind: "attached",
      version: client.initializeResult?.serverInfo?.version ?? "?",
      ...(pid === undefined ? {} : { pid }),
      socket: path,
      epoch: handshake.epoch,
      methods: handshake.methods,
    });
    return client;
  }

  #options(): LanguageClientOptions {
    return {
      documentSelector: [{ language: "jsonl" }],
      outputChannel: this.#log,
      initializationOptions: {
        sessiond: { protocolVersions: [protocolVersion], clientId: this.clientId },
      },
    };
  }

  #tell(name: NotificationName, params: never): void {
    for (const handler of [...(this.#handlers.get(name) ?? [])]) {
      handler(params);
    }
  }

  #become(state: DaemonState): void {
    if (this.#disposed) {
      return;
    }
    this.#state = state;
    this.#log.info(`${state.kind}${"reason" in state ? `: ${state.reason}` : ""}`);
    void vscode.commands.executeCommand("setContext", "sessiond.state", state.kind);
    this.#changed.fire(state);
  }
}
