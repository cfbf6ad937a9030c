// The interface of the daemon for the rest of the extension: state, requests, notifications. `attach.ts` implements it.
import type * as vscode from "vscode";
import type { BothWays, Notifications, Requests } from "../protocol.ts";

export { DaemonError, type DaemonErrorKind } from "./errors.ts";

export type MethodName = keyof Requests;
export type ParamsOf<M extends MethodName> = Requests[M]["params"];
export type ResultOf<M extends MethodName> = Requests[M]["result"];

/** The daemon's notifications, and `$/progress` of requests with a `workDoneToken`. */
export type NotificationName = keyof Notifications | keyof BothWays;
export type NotificationParams<N extends NotificationName> = (Notifications & BothWays)[N]["params"];

/** The daemon that this window is attached to. */
export interface AttachedState {
  kind: "attached";
  version: string;
  /** Process id, if the endpoint file has it. */
  pid?: number;
  socket: string;
  /** Different after each start of the daemon. */
  epoch: string;
  /** The methods of this daemon. */
  methods: readonly string[];
}

/**
 * `connecting`: connecting to the daemon or starting it. `attached`: the daemon accepts requests. `offline`: not
 * running; the extension keeps trying. `missing`: not running, and there is no `sessiond` command to start it.
 * `mismatch`: the version of the daemon or of the command is not supported. `stopped`: the user stopped the daemon in
 * this window; the extension does not reconnect.
 */
export type DaemonState =
  | { kind: "connecting" }
  | AttachedState
  | { kind: "offline"; reason: string }
  | { kind: "missing"; reason: string }
  | { kind: "mismatch"; needed: string; found: string }
  | { kind: "stopped" };

export interface Daemon extends vscode.Disposable {
  readonly state: DaemonState;
  readonly onDidChangeState: vscode.Event<DaemonState>;
  /** The `origin.clientId` of changes by this window. */
  readonly clientId: string;
  /**
   * Send a request. A request that writes is sent again if the connection ends before the response, and takes effect
   * once. Rejects with a `DaemonError`; immediately if this window is not attached.
   */
  request<M extends MethodName>(
    method: M,
    params: ParamsOf<M>,
    token?: vscode.CancellationToken,
  ): Promise<ResultOf<M>>;
  /** Handle a kind of notification, from every connection, until disposed. */
  onNotification<N extends NotificationName>(
    name: N,
    handler: (params: NotificationParams<N>) => void,
  ): vscode.Disposable;
}
