// Connects to the daemon and reconnects after a loss, with one connection at a time. Independent of VS Code and of the
// protocol.
//
// A user action starts the daemon. A reconnect does not, because the user may have stopped the daemon. A daemon that
// crashed is started again a limited number of times.
import type * as net from "node:net";
import { CrashCounter, pauses } from "./restartLimit.ts";
import { type Found, OLDEST_VERSION } from "./command.ts";
import type { AttachedState, DaemonState } from "./daemon.ts";
import { dial, type Dialed, NoListener } from "./dial.ts";
import { isAlive, readEndpoint } from "./endpoint.ts";
import { protocolVersion } from "../protocol.ts";
import { DaemonError } from "./errors.ts";

/** A connection after the handshake. */
export interface Attachment {
  readonly facts: Pick<AttachedState, "version" | "epoch" | "methods">;
  /** Resolves when the connection has ended and all of its registrations are disposed. Never rejects. */
  readonly ended: Promise<void>;
  /** End the connection. Resolves like `ended`, within a short time. */
  end(): Promise<void>;
}

/** The environment of the loop. The loop calls these functions for each attempt, because settings change. */
export interface LoopEnvironment {
  /** The sockets to try, the most likely first. */
  sockets(): readonly string[];
  /** The file that describes the running daemon. */
  endpoint(): string;
  /** Why this platform is not supported; undefined if it is. */
  unsupportedReason(): string | undefined;
  /** Why the daemon must not be started; undefined if it may be. */
  noStartReason(): string | undefined;
  /** Whether a daemon that crashed is started again. */
  autoStart(): boolean;
  findCommand(signal: AbortSignal): Promise<Found>;
  start(command: string, signal: AbortSignal): Promise<void>;
  /** Perform the handshake. Rejects with a `DaemonError` and ends the socket if it fails. */
  handshake(socket: net.Socket, signal: AbortSignal): Promise<Attachment>;
  /** For the handshake. A daemon that has just been started may be busy. */
  readonly handshakeTimeoutMs: number;
  changed(state: DaemonState): void;
}

/** Between attempts while the daemon's version does not match. */
const MISMATCH_PAUSE_MS = 15_000;

/** States that end only after an action of the user. */
const FINAL_STATES: readonly DaemonState["kind"][] = ["missing", "mismatch", "stopped"];

const CRASHED_REPEATEDLY = "The daemon crashed repeatedly. See the daemon log for the reason.";

export class AttachLoop {
  readonly #environment: LoopEnvironment;
  readonly #crashes = new CrashCounter();
  #state: DaemonState = { kind: "connecting" };
  #attachment: Attachment | undefined;
  #run: { abort: AbortController; ended: Promise<void> } | undefined;
  /** The queue of `begin`, `restart` and `close`: each runs after the previous one. */
  #queue: Promise<void> = Promise.resolve();
  #restartQueued: Promise<void> | undefined;
  /** The next attempt starts the daemon if it does not run. */
  #startRequested = false;
  /** Why the last start failed; reported until the next start. */
  #startProblem: string | undefined;
  /** This window has requested the daemon to stop. */
  #stopping = false;
  #closed = false;
  /** Process id of the daemon that we were attached to last. */
  #lastPid: number | undefined;
  /** Called with the state after the next attempt. */
  #waiting: ((state: DaemonState) => void)[] = [];
  #endPause: () => void = () => undefined;
  /** Called after each change of state, for callers of `next`. */
  readonly #checks = new Set<() => void>();

  constructor(environment: LoopEnvironment) {
    this.#environment = environment;
  }

  get state(): DaemonState {
    return this.#state;
  }

  /** The current connection. */
  get attachment(): Attachment | undefined {
    return this.#attachment;
  }

  /**
   * Wait for the connection after one that was lost. Resolves to undefined if `signal` cancels, or if there will be no
   * connection without an action of the user: the daemon was stopped in this window or is missing, or the loop is
   * closed. Does not start the daemon.
   */
  next(lost: Attachment, signal: AbortSignal): Promise<Attachment | undefined> {
    return new Promise((resolve) => {
      const check = () => {
        const found = this.#attachment === lost ? undefined : this.#attachment;
        if (found !== undefined || this.#closed || signal.aborted || FINAL_STATES.includes(this.#state.kind)) {
          this.#checks.delete(check);
          signal.removeEventListener("abort", check);
          resolve(found);
        }
      };
      this.#checks.add(check);
      signal.addEventListener("abort", check);
      check();
    });
  }

  /** Connect to the daemon, and keep trying. */
  begin(): void {
    void this.#enqueue(() => this.#startRun());
  }

  /** Connect now, and start the daemon if it does not run. Resolves to the state after the attempt. */
  ensureRunning(): Promise<DaemonState> {
    if (this.#closed || (this.#state.kind === "attached" && !this.#stopping)) {
      return Promise.resolve(this.#state);
    }
    return new Promise((resolve) => {
      this.#startRequested = true;
      this.#stopping = false;
      this.#crashes.reset();
      this.#waiting.push(resolve);
      this.begin();
      this.#endPause();
    });
  }

  /** Reconnect with the current settings. Concurrent calls cause one restart. */
  restart(): Promise<void> {
    this.#restartQueued ??= this.#enqueue(async () => {
      this.#restartQueued = undefined;
      await this.#endRun();
      this.#startRun();
    });
    return this.#restartQueued;
  }

  /** Stop the daemon with `request`, and do not reconnect. Rejects as `request` does. */
  async stopDaemon(request: () => Promise<unknown>): Promise<void> {
    this.#stopping = true;
    try {
      await request();
    } catch (error) {
      // The connection ended before the response: the daemon has stopped, as requested.
      if (!(error instanceof DaemonError && error.kind === "disconnected")) {
        this.#stopping = false;
        throw error;
      }
    }
  }

  /** Close the connection and do not reconnect. */
  close(): Promise<void> {
    this.#closed = true;
    this.#notifyWatchers();
    return this.#enqueue(async () => {
      await this.#endRun();
      this.#resolve(this.#waiting.splice(0));
    });
  }

  #enqueue(action: () => void | Promise<void>): Promise<void> {
    this.#queue = this.#queue.catch(() => undefined).then(action);
    return this.#queue;
  }

  #startRun(): void {
    if (this.#closed || this.#run !== undefined) {
      return;
    }
    const unsupported = this.#environment.unsupportedReason();
    if (unsupported !== undefined) {
      this.#setState({ kind: "missing", reason: unsupported });
      this.#resolve(this.#waiting.splice(0));
      return;
    }
    this.#stopping = false;
    this.#setState({ kind: "connecting" });
    const run = { abort: new AbortController(), ended: Promise.resolve() };
    this.#run = run;
    run.ended = this.#connectRepeatedly(run.abort.signal);
  }

  async #endRun(): Promise<void> {
    const run = this.#run;
    if (run !== undefined) {
      run.abort.abort();
      this.#endPause();
      await this.#attachment?.end();
      await run.ended;
      this.#run = undefined;
    }
  }

  async #connectRepeatedly(signal: AbortSignal): Promise<void> {
    let pauseTimes = pauses();
    while (!signal.aborted) {
      const waiting = this.#waiting.splice(0);
      const attachment = await this.#attempt(signal);
      if (signal.aborted) {
        this.#waiting.unshift(...waiting); // the next run resolves them
      } else {
        this.#resolve(waiting);
      }
      if (attachment !== undefined) {
        this.#resolve(this.#waiting.splice(0));
        pauseTimes = pauses();
        await attachment.ended;
        this.#attachment = undefined;
        if (signal.aborted) {
          return;
        }
        if (this.#stopping) {
          this.#run = undefined; // before listeners are called: they may start the next run
          this.#setState({ kind: "stopped" });
          return;
        }
        this.#setState({ kind: "offline", reason: "The connection to the daemon has ended." });
      }
      if (this.#waiting.length === 0) {
        await this.#pause(this.#state.kind === "mismatch" ? MISMATCH_PAUSE_MS : pauseTimes.next().value, signal);
      }
    }
  }

  /** Try to connect once, and start the daemon once if requested. Sets the state. */
  async #attempt(signal: AbortSignal): Promise<Attachment | undefined> {
    try {
      const dialed = await this.#connect(signal);
      const attachment = await this.#handshake(dialed.socket, signal);
      if (signal.aborted) {
        await attachment.end();
        return undefined;
      }
      const pid = readEndpoint(this.#environment.endpoint())?.pid;
      this.#attachment = attachment;
      this.#lastPid = pid;
      this.#startRequested = false;
      this.#startProblem = undefined;
      const known = pid === undefined ? {} : { pid };
      this.#setState({ kind: "attached", ...attachment.facts, socket: dialed.path, ...known });
      return attachment;
    } catch (error) {
      if (!signal.aborted) {
        this.#setState(stateAfter(error));
      }
      return undefined;
    }
  }

  async #connect(signal: AbortSignal): Promise<Dialed> {
    try {
      return await dial(this.#environment.sockets(), signal);
    } catch (error) {
      if (!(error instanceof NoListener)) {
        throw error;
      }
      if (this.#hasCrashed() && this.#environment.autoStart()) {
        this.#startRequested ||= this.#crashes.record(Date.now());
        this.#startProblem = this.#startRequested ? undefined : CRASHED_REPEATEDLY;
      }
      if (!this.#startRequested) {
        throw new Error(this.#startProblem ?? `The daemon does not run: ${error.message}.`);
      }
    }
    const reason = this.#environment.noStartReason();
    if (reason !== undefined) {
      throw new Error(`The daemon does not run, and ${reason}.`);
    }
    return await this.#startDaemon(signal);
  }

  async #startDaemon(signal: AbortSignal): Promise<Dialed> {
    const found = await this.#environment.findCommand(signal);
    if (found.kind !== "found") {
      throw new CommandNotFound(found);
    }
    // One start per request: a failure is reported, and the next request tries again.
    this.#startRequested = false;
    this.#startProblem = undefined;
    this.#setState({ kind: "connecting" });
    try {
      await this.#environment.start(found.file, signal);
      return await dial(this.#environment.sockets(), signal);
    } catch (error) {
      this.#startProblem = `The daemon could not be started: ${(error as Error).message}`;
      throw new Error(this.#startProblem);
    }
  }

  async #handshake(socket: net.Socket, signal: AbortSignal): Promise<Attachment> {
    const timeout = AbortSignal.timeout(this.#environment.handshakeTimeoutMs);
    try {
      return await this.#environment.handshake(socket, AbortSignal.any([signal, timeout]));
    } catch (error) {
      throw timeout.aborted ? new Error("The daemon accepted the connection and did not respond.") : error;
    }
  }

  /** Whether the last attached daemon crashed. A daemon that stops normally removes its endpoint file. */
  #hasCrashed(): boolean {
    const endpoint = readEndpoint(this.#environment.endpoint());
    if (this.#lastPid === undefined || endpoint?.pid !== this.#lastPid || isAlive(endpoint)) {
      return false;
    }
    this.#lastPid = undefined;
    return true;
  }

  #resolve(waiting: readonly ((state: DaemonState) => void)[]): void {
    for (const resolve of waiting) {
      resolve(this.#state);
    }
  }

  #pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
      if (signal.aborted) {
        this.#endPause();
      }
    });
  }

  #setState(state: DaemonState): void {
    const same = JSON.stringify(state) === JSON.stringify(this.#state);
    if (!same && !this.#closed) {
      this.#state = state;
      this.#notifyWatchers();
      this.#environment.changed(state);
    }
  }

  #notifyWatchers(): void {
    for (const check of [...this.#checks]) {
      check();
    }
  }
}

/** There is no usable command to start the daemon. */
class CommandNotFound extends Error {
  readonly found: Exclude<Found, { kind: "found" }>;

  constructor(found: Exclude<Found, { kind: "found" }>) {
    super(found.kind);
    this.found = found;
  }
}

function stateAfter(error: unknown): DaemonState {
  if (error instanceof CommandNotFound) {
    const { found } = error;
    return found.kind === "missing"
      ? { kind: "missing", reason: found.reason }
      : {
          kind: "mismatch",
          needed: `sessiond ${OLDEST_VERSION} or newer`,
          found: `sessiond ${found.version} (${found.file})`,
        };
  }
  if (error instanceof DaemonError && error.kind === "unsupportedVersion") {
    const supported = error.details("unsupportedVersion")?.supportedVersions?.join(", ") ?? "unknown";
    return { kind: "mismatch", needed: `protocol ${protocolVersion}`, found: `protocol ${supported}` };
  }
  return { kind: "offline", reason: (error as Error).message };
}
