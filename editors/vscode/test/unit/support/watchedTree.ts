// A session of a real daemon, and the model of its tree.
import * as net from "node:net";
import { TreeModel } from "../../../src/model/tree.ts";
import type {
  SessionInfo,
  TreeChangedNote,
  TreeLapsedNote,
  TreeResult,
  WatchTreeParams,
  WatchTreeResult,
} from "../../../src/protocol.ts";
import { type Connected, handshake, type Home } from "./daemons.ts";
import { until } from "./until.ts";

type Entry = Record<string, unknown>;

export function user(id: string, text = id): Entry {
  return { id, type: "message", message: { role: "user", content: text, timestamp: 1 } };
}

export function assistant(id: string, text = id): Entry {
  const content = text === "" ? [] : [{ type: "text", text }];
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost };
  const message = { role: "assistant", content, provider: "p", model: "m", api: "a", usage, stopReason: "stop" };
  return { id, type: "message", message: { ...message, timestamp: 1 } };
}

export async function connect(home: Home): Promise<Connected> {
  const socket = net.connect(home.paths.socket);
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return handshake(socket, AbortSignal.timeout(30_000));
}

let created = 0;

/** A session, and the model of a window that shows it. */
export class WatchedTree {
  readonly sessionId = `session-${created++}`;
  model!: TreeModel;
  /** The params of the watches so far. */
  readonly watches: WatchTreeParams[] = [];
  #connection!: Connected;
  #seq = 0; // of the last notification
  #lastSeq = 0; // of the log

  /** Create a session with entries, and attach a window to it. */
  static async of(connection: Connected, ...entries: Entry[]): Promise<WatchedTree> {
    const tree = new WatchedTree();
    tree.attach(connection);
    await connection.request("session/create", { id: tree.sessionId, cwd: "/tmp" });
    await tree.append(entries);
    return tree;
  }

  attach(connection: Connected): void {
    this.#connection = connection;
    connection.onNotification("session/treeChanged", (note: TreeChangedNote) => {
      if (note.sessionId === this.sessionId) {
        this.#seq = note.more ? this.#seq : note.seq;
      }
      this.model?.received(note);
    });
    connection.onNotification("session/treeLapsed", (note: TreeLapsedNote) => this.model?.received(note));
  }

  /** Show the tree. */
  async show(pageSize?: number): Promise<TreeModel> {
    const requests = {
      watch: (params: WatchTreeParams) => {
        this.watches.push(params);
        return this.#connection.request("session/watchTree", { ...params, intervalMs: 20 }) as Promise<WatchTreeResult>;
      },
      unwatch: (params: object) => this.#connection.request("server/unwatch", params),
    };
    const session = { sessionId: this.sessionId, leafId: null };
    this.model = new TreeModel(session, { filter: "default", query: "" }, requests, () => undefined, pageSize);
    await this.model.load();
    return this.model;
  }

  /** Append entries, by default at the leaf. */
  append(entries: Entry[], more: { parentId?: string | null } = {}): Promise<void> {
    return this.request("session/append", { entries, ...more });
  }

  async request(method: string, params: object): Promise<void> {
    await this.#connection.request(method, { sessionId: this.sessionId, ...params });
    const info = await this.#connection.request("session/info", { sessionId: this.sessionId });
    this.#lastSeq = (info as { session: SessionInfo }).session.lastSeq;
  }

  /** Wait until all changes so far are shown. */
  async current(): Promise<void> {
    await until("the rows are those of the last line", () => this.#seq >= this.#lastSeq);
  }

  /** The rows that `session/tree` returns for the params of the last watch. */
  async read(limit = 10_000): Promise<TreeResult> {
    const { sessionId, filter, query, openIds, openAll } = this.watches.at(-1) as WatchTreeParams;
    const params = { sessionId, filter, query, openIds, openAll, layout: "path", limit };
    return (await this.#connection.request("session/tree", params)) as TreeResult;
  }
}
