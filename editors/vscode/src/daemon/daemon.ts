// What the rest of the extension knows of the daemon: its state, requests and notifications. `attach.ts` is it.
import type * as vscode from "vscode";
import type { BothWays, Notifications, Requests } from "../protocol.ts";

export { DaemonError, type DaemonErrorKind } from "./errors.ts";

export type MethodName = keyof Requests;
export type ParamsOf<M extends MethodName> = Requests[M]["params"];
export type ResultOf<M extends MethodName> = Requests[M]["result"];

/** The daemon's notifications, and `$/progress` of requests with a `workDoneToken`. */
export type NotificationName = keyof Notifications | keyof BothWays;
export type NotificationParams<N extends NotificationName> = (Notifications & BothWays)[N]["params"];

/** What is known of the daemon that we are attached to. */
export interface AttachedState {
  kind: "attached";
  version: string;
  /** Of the daemon, where it told it. */
  pid?: number;
  socket: string;
  /** New at every start of the daemon. */
  epoch: string;
  /** What this daemon answers. */
  methods: readonly string[];
}

/**
 * `connecting`: looking for it, starting it, or greeting it. `attached`: requests are answered. `offline`: not
 * there, and looked for again and again. `missing`: it does not run and there is no `sessiond` command that could
 * start it. `mismatch`: it, or the command, is of a version that does not go with ours. `stopped`: not looked for,
 * because somebody in this window wanted it so.
 */
export type DaemonState =
  | { kind: "connecting" }
  | AttachedState
  | { kind: "offline"; reason: string }
  | { kind: "missing"; reason: string }
  | { kind: "mismatch"; ours: string; theirs: string }
  | { kind: "stopped" };

export interface Daemon extends vscode.Disposable {
  readonly state: DaemonState;
  readonly onDidChangeState: vscode.Event<DaemonState>;
  /** `origin.clientId` of what this window changed. */
  readonly clientId: string;
  /**
   * Ask the daemon. A request that writes is sent again when the connection ends before the answer, and takes effect
   * once. Rejects with a `DaemonError`, at once when it is not attached.
   */
  request<M extends MethodName>(
    method: M,
    params: ParamsOf<M>,
    token?: vscode.CancellationToken,
  ): Promise<ResultOf<M>>;
  /** Hear of a kind of notification until disposed, whichever daemon is attached then. */
  onNotification<N extends NotificationName>(
    name: N,
    handler: (params: NotificationParams<N>) => void,
  ): vscode.Disposable;
}
