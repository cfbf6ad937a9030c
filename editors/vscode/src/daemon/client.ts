// One connection as an LSP client: greeted once, never restarted, and silent. `attach.ts` makes the next one.
import type * as net from "node:net";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  ExecuteCommandRequest,
  LanguageClient,
  type DynamicFeature,
  type LanguageClientOptions,
  type StaticFeature,
} from "vscode-languageclient/node";
import { State } from "vscode-languageclient/node";

/** Milliseconds for the answer to the greeting. */
const PATIENCE = 30_000;

/** What it differs in from the library's client: it shows no messages by itself, and leaves commands alone. */
class QuietClient extends LanguageClient {
  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    // The daemon serves `workspace/executeCommand` under names such as `sessiond.fork`, and the library would make
    // VS Code commands of them: the same names as ours, which fails, and once for every connection.
    // `serverCommands.ts` runs them instead.
    if ("registrationType" in feature && feature.registrationType.method === ExecuteCommandRequest.method) {
      return;
    }
    super.registerFeature(feature);
  }

  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  override stop(timeout?: number): Promise<void> {
    // What never ran cannot be shut down; the library throws then, where nobody could catch it.
    return this.isRunning() ? super.stop(timeout) : Promise.resolve();
  }
}

/** A client over `socket` that has been greeted. Rejects when the daemon refuses, goes or says nothing. */
export async function greeted(socket: net.Socket, options: LanguageClientOptions): Promise<LanguageClient> {
  const client = new QuietClient(
    "sessiond",
    "sessiond",
    () => Promise.resolve({ reader: socket, writer: socket, detached: true }),
    {
      ...options,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
      },
      initializationFailedHandler: () => false,
    },
  );
  const late = setTimeout(() => socket.destroy(), PATIENCE);
  try {
    await client.start();
    return client;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(late);
  }
}

/** Resolves when the client's connection has ended and all that it had registered is gone. */
export function ended(client: LanguageClient): Promise<void> {
  if (!client.isRunning()) {
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const watching: vscode.Disposable = client.onDidChangeState(({ newState }) => {
      if (newState === State.Stopped) {
        watching.dispose();
        resolve();
      }
    });
  });
}
