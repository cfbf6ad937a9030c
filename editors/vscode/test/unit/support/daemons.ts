// A real daemon with its own home, and the handshake of an editor over its socket.
import { execFile } from "node:child_process";
import * as fs from "node:fs";
import type * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { createMessageConnection, SocketMessageReader, SocketMessageWriter } from "vscode-jsonrpc/node.js";
import { readEndpoint } from "../../../src/daemon/endpoint.ts";
import { daemonError } from "../../../src/daemon/errors.ts";
import type { Attachment } from "../../../src/daemon/loop.ts";
import { handshakeOptions, terminal } from "../../../src/daemon/handshakeOptions.ts";
import { type Environment, type DaemonPaths, daemonPaths } from "../../../src/daemon/paths.ts";
import type { HelloResult } from "../../../src/protocol.ts";

/** The command of the environment in which `scripts/build-vscode` runs, or of this checkout. */
export const SESSIOND =
  process.env["SESSIOND"] ?? path.resolve(import.meta.dirname, "../../../../../.venv/bin/sessiond");

export class Home {
  readonly folder: string;
  readonly environment: Environment;
  readonly paths: DaemonPaths;

  constructor() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "sd-"));
    const { PATH, HOME, LANG } = process.env;
    this.environment = { PATH, HOME, LANG, SESSIOND_HOME: path.join(this.folder, "h") };
    this.paths = daemonPaths("", this.environment);
  }

  get pid(): number | undefined {
    return readEndpoint(this.paths.endpoint)?.pid;
  }

  async run(...words: string[]): Promise<string> {
    const options = { env: this.environment as NodeJS.ProcessEnv, cwd: this.folder };
    return (await promisify(execFile)(SESSIOND, words, options)).stdout;
  }

  signal(name: NodeJS.Signals): void {
    if (this.pid !== undefined) {
      process.kill(this.pid, name);
    }
  }
}

/** A home for one test. Its daemon, if there is one, is stopped at the end of the test. */
export function aHome(t: TestContext): Home {
  const home = new Home();
  t.after(async () => {
    await home.run("stop").catch(() => undefined); // none runs
    fs.rmSync(home.folder, { recursive: true, force: true });
  });
  return home;
}

/** A connection after the handshake. */
export interface Connected extends Attachment {
  request(method: string, params: object): Promise<unknown>;
  onNotification(name: string, handler: (params: never) => void): void;
  /** Resolves when all requests so far are written. */
  sent(): Promise<void>;
}

/** Perform the handshake as VS Code's client does, without VS Code. */
export async function handshake(socket: net.Socket, signal: AbortSignal, versions?: number[]): Promise<Connected> {
  const connection = createMessageConnection(new SocketMessageReader(socket), new SocketMessageWriter(socket));
  const ended = new Promise<void>((resolve) => connection.onClose(() => resolve()));
  const cancel = () => socket.destroy();
  signal.addEventListener("abort", cancel, { once: true });
  connection.onClose(() => connection.dispose());
  connection.listen();
  try {
    const options = handshakeOptions("test", terminal(undefined, "test", undefined, process.pid), {});
    const initialized = await connection.sendRequest<{
      serverInfo: { version: string };
      capabilities: { experimental: { sessiond: HelloResult } };
    }>("initialize", {
      processId: process.pid,
      rootUri: null,
      capabilities: { textDocument: { hover: {} } },
      initializationOptions: { sessiond: versions ? { ...options, protocolVersions: versions } : options },
    });
    const { epoch, methods } = initialized.capabilities.experimental.sessiond;
    return {
      facts: { version: initialized.serverInfo.version, epoch, methods },
      ended,
      end: async () => {
        socket.destroy();
        await ended;
      },
      // Messages are written in their order.
      sent: () => connection.sendNotification("$/setTrace", { value: "off" }),
      onNotification: (name, handler) => void connection.onNotification(name, handler as (params: unknown) => void),
      request: async (method, params) => {
        try {
          return await connection.sendRequest(method, params);
        } catch (error) {
          throw daemonError(error);
        }
      },
    };
  } catch (error) {
    socket.destroy();
    throw daemonError(error);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}
