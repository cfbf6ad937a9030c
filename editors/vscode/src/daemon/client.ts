// One connection as an LSP client. It is never restarted and shows no messages; `loop.ts` makes the next one.
import type * as net from "node:net";
import type * as vscode from "vscode";
import {
  CloseAction,
  type DynamicFeature,
  ErrorAction,
  ExecuteCommandRequest,
  LanguageClient,
  type LanguageClientOptions,
  State,
  type StaticFeature,
} from "vscode-languageclient/node";
import { daemonError } from "./errors.ts";

/** For the shutdown exchange. Its success does not matter. */
const SHUTDOWN_TIMEOUT_MS = 1000;

/** The library's message when a connection ends, which is not an error here. */
const ENDED = "The connection has ended.";

/** The library's client without its user messages and without its registration of commands. */
class QuietClient extends LanguageClient {
  readonly #log: vscode.LogOutputChannel;

  constructor(socket: net.Socket, options: LanguageClientOptions, log: vscode.LogOutputChannel) {
    const streams = () => Promise.resolve({ reader: socket, writer: socket, detached: true });
    super("sessiond", "sessiond", streams, options);
    this.#log = log;
  }

  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    // The daemon serves `workspace/executeCommand` with names such as `sessiond.fork`. The library would register
    // them as VS Code commands, which fails: this extension has commands of these names, and each connection would
    // register them again. `serverCommands.ts` runs them instead.
    if ("registrationType" in feature && feature.registrationType.method === ExecuteCommandRequest.method) {
      return;
    }
    super.registerFeature(feature);
  }

  override error(message: string, data?: unknown): void {
    if (message === ENDED) {
      this.#log.debug(message);
    } else {
      this.#log.error(message, ...details(data));
    }
  }

  override warn(message: string, data?: unknown): void {
    this.#log.warn(message, ...details(data));
  }

  override info(message: string, data?: unknown): void {
    this.#log.info(message, ...details(data));
  }

  override debug(message: string, data?: unknown): void {
    this.#log.debug(message, ...details(data));
  }

  override stop(timeout?: number): Promise<void> {
    // The library throws an uncatchable error if a client that never ran is shut down.
    return this.isRunning() ? super.stop(timeout) : Promise.resolve();
  }
}

function details(data: unknown): unknown[] {
  return data === undefined || data === null ? [] : [data];
}

/** A client after the handshake. */
export interface Connected {
  readonly client: LanguageClient;
  /** Resolves when the connection has ended and all registrations of the client are disposed. */
  readonly ended: Promise<void>;
  end(): Promise<void>;
}

/**
 * Perform the handshake with the daemon over `socket`. Rejects with a `DaemonError` if the daemon refuses or the
 * connection ends, or if `signal` cancels, which ends the socket. `prepare` is called with the client before any message.
 */
export async function handshake(
  socket: net.Socket,
  options: LanguageClientOptions,
  log: vscode.LogOutputChannel,
  prepare: (client: LanguageClient) => void,
  signal: AbortSignal,
): Promise<Connected> {
  const client = new QuietClient(
    socket,
    {
      ...options,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true, message: ENDED }),
      },
      initializationFailedHandler: () => false,
    },
    log,
  );
  prepare(client);
  const ended = untilStopped(client);
  const cancel = () => socket.destroy();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    if (signal.aborted) {
      cancel();
    }
    await client.start();
  } catch (error) {
    socket.destroy();
    throw daemonError(error);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
  const end = async () => {
    await client.stop(SHUTDOWN_TIMEOUT_MS).catch(() => undefined);
    socket.destroy();
    await ended;
  };
  return { client, ended, end };
}

function untilStopped(client: LanguageClient): Promise<void> {
  return new Promise((resolve) => {
    const subscription = client.onDidChangeState(({ newState }) => {
      if (newState === State.Stopped) {
        subscription.dispose();
        resolve();
      }
    });
  });
}
