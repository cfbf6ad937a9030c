// Connects to the daemon and reconnects after a loss, with one connection at a time. Independent of VS Code and of the
// protocol.
//
// A user action starts the daemon. A reconnect does not, because the user may have stopped the daemon. A daemon that
// was killed is started again a limited number of times.
import type * as net from "node:net";
import { Deaths, pauses } from "./backoff.ts";
import { type Found, OLDEST } from "./command.ts";
import type { AttachedState, DaemonState } from "./daemon.ts";
import { dial, type Dialled, NobodyListens } from "./dial.ts";
import { isAlive, readEndpoint } from "./endpoint.ts";
import { protocolVersion } from "../protocol.ts";
import { DaemonError } from "./errors.ts";

/** A connection that has been greeted. */
export interface Attachment {
  readonly facts: Pick<AttachedState, "version" | "epoch" | "methods">;
  /** Resolves, never rejects, once the connection is gone and all that came with it. */
  readonly ended: Promise<void>;
  /** End it; resolves like `ended`, and soon. */
  end(): Promise<void>;
}

/** The environment of the loop. The loop calls these functions for each attempt, because settings change. */
export interface Surroundings {
  /** Where to knock, the likeliest first. */
  sockets(): readonly string[];
  /** The file that describes the running daemon. */
  endpoint(): string;
  /** Why no daemon can be reached from this machine at all, if so. */
  impossible(): string | undefined;
  /** Why no daemon that we start could be found at these sockets, if so. */
  noStart(): string | undefined;
  /** Whether a daemon that died is started again. */
  autoStart(): boolean;
  findCommand(signal: AbortSignal): Promise<Found>;
  start(command: string, signal: AbortSignal): Promise<void>;
  /** Perform the handshake. Rejects with a `DaemonError` and ends the socket if it fails. */
  greet(socket: net.Socket, signal: AbortSignal): Promise<Attachment>;
  /** Milliseconds for a greeting: a daemon that has just been started may be busy. */
  readonly patience: number;
  changed(state: DaemonState): void;
}

/** Milliseconds between attempts while the daemon's version does not match. */
const RARELY = 15_000;

/** States that do not end by themselves. */
const HOPELESS: readonly DaemonState["kind"][] = ["missing", "mismatch", "stopped"];

const DIES = "The daemon ended repeatedly. See the daemon log for the reason.";

export class AttachLoop {
  readonly #world: Surroundings;
  readonly #deaths = new Deaths();
  #state: DaemonState = { kind: "connecting" };
  #attachment: Attachment | undefined;
  #life: { abort: AbortController; over: Promise<void> } | undefined;
  /** The queue of begin, restart and close: each runs after the previous one. */
  #turn: Promise<void> = Promise.resolve();
  #restartQueued: Promise<void> | undefined;
  /** The next attempt starts the daemon if it does not run. */
  #startRequested = false;
  /** Why the last start failed; reported until the next start. */
  #startProblem: string | undefined;
  /** The daemon is about to end because this window stopped it. */
  #stopping = false;
  #closed = false;
  /** Process id of the daemon that we were attached to last. */
  #lastPid: number | undefined;
  /** Called with the state after the next attempt. */
  #waiting: ((state: DaemonState) => void)[] = [];
  #wake: () => void = () => undefined;
  /** Look again, since something has changed: for those who wait for the next connection. */
  readonly #watchers = new Set<() => void>();

  constructor(world: Surroundings) {
    this.#world = world;
  }

  get state(): DaemonState {
    return this.#state;
  }

  /** The greeted connection of this moment. */
  get attachment(): Attachment | undefined {
    return this.#attachment;
  }

  /**
   * The connection that is made after one that was lost. Undefined when `signal` gives up, and when none will be made
   * by itself: the daemon was stopped here or cannot be found, or this is closed. A daemon is not started for it.
   */
  next(lost: Attachment, signal: AbortSignal): Promise<Attachment | undefined> {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.#attachment === lost ? undefined : this.#attachment;
        if (found !== undefined || this.#closed || signal.aborted || HOPELESS.includes(this.#state.kind)) {
          this.#watchers.delete(look);
          signal.removeEventListener("abort", look);
          resolve(found);
        }
      };
      this.#watchers.add(look);
      signal.addEventListener("abort", look);
      look();
    });
  }

  /** Look for the daemon from now on. */
  begin(): void {
    void this.#takeTurn(() => this.#beginLife());
  }

  /** Connect now, and start the daemon if it does not run. Resolves to the state after the attempt. */
  ensureRunning(): Promise<DaemonState> {
    if (this.#closed || (this.#state.kind === "attached" && !this.#stopping)) {
      return Promise.resolve(this.#state);
    }
    return new Promise((resolve) => {
      this.#startRequested = true;
      this.#stopping = false;
      this.#deaths.forget();
      this.#waiting.push(resolve);
      this.begin();
      this.#wake();
    });
  }

  /** Reconnect with the current settings. Concurrent calls cause one restart. */
  restart(): Promise<void> {
    this.#restartQueued ??= this.#takeTurn(async () => {
      this.#restartQueued = undefined;
      await this.#endLife();
      this.#beginLife();
    });
    return this.#restartQueued;
  }

  /** Have the daemon stopped by `stop`, and do not look for it afterwards. Rejects as `stop` does. */
  async rest(stop: () => Promise<unknown>): Promise<void> {
    this.#stopping = true;
    try {
      await stop();
    } catch (error) {
      // The connection ended before the response: the daemon has stopped, as requested.
      if (!(error instanceof DaemonError && error.kind === "disconnected")) {
        this.#stopping = false;
        throw error;
      }
    }
  }

  /** End for good. */
  close(): Promise<void> {
    this.#closed = true;
    this.#notifyWatchers();
    return this.#takeTurn(async () => {
      await this.#endLife();
      this.#answer(this.#waiting.splice(0));
    });
  }

  #takeTurn(action: () => void | Promise<void>): Promise<void> {
    this.#turn = this.#turn.catch(() => undefined).then(action);
    return this.#turn;
  }

  #beginLife(): void {
    if (this.#closed || this.#life !== undefined) {
      return;
    }
    const impossible = this.#world.impossible();
    if (impossible !== undefined) {
      this.#become({ kind: "missing", reason: impossible });
      this.#answer(this.#waiting.splice(0));
      return;
    }
    this.#stopping = false;
    this.#become({ kind: "connecting" });
    const life = { abort: new AbortController(), over: Promise.resolve() };
    this.#life = life;
    life.over = this.#live(life.abort.signal);
  }

  async #endLife(): Promise<void> {
    const life = this.#life;
    if (life !== undefined) {
      life.abort.abort();
      this.#wake();
      await this.#attachment?.end();
      await life.over;
      this.#life = undefined;
    }
  }

  async #live(signal: AbortSignal): Promise<void> {
    let waits = pauses();
    while (!signal.aborted) {
      const asking = this.#waiting.splice(0);
      const attachment = await this.#attempt(signal);
      if (signal.aborted) {
        this.#waiting.unshift(...asking); // the next life resolves them
      } else {
        this.#answer(asking);
      }
      if (attachment !== undefined) {
        this.#answer(this.#waiting.splice(0));
        waits = pauses();
        await attachment.ended;
        this.#attachment = undefined;
        if (signal.aborted) {
          return;
        }
        if (this.#stopping) {
          this.#life = undefined; // before listeners are called: they may start the next life at once
          this.#become({ kind: "stopped" });
          return;
        }
        this.#become({ kind: "offline", reason: "The connection to the daemon has ended." });
      }
      if (this.#waiting.length === 0) {
        await this.#pause(this.#state.kind === "mismatch" ? RARELY : waits.next().value, signal);
      }
    }
  }

  /** Try to connect once, and start the daemon once if requested. Sets the state. */
  async #attempt(signal: AbortSignal): Promise<Attachment | undefined> {
    try {
      const dialled = await this.#reached(signal);
      const attachment = await this.#greeted(dialled.socket, signal);
      if (signal.aborted) {
        await attachment.end();
        return undefined;
      }
      const pid = readEndpoint(this.#world.endpoint())?.pid;
      this.#attachment = attachment;
      this.#lastPid = pid;
      this.#startRequested = false;
      this.#startProblem = undefined;
      const known = pid === undefined ? {} : { pid };
      this.#become({ kind: "attached", ...attachment.facts, socket: dialled.path, ...known });
      return attachment;
    } catch (error) {
      if (!signal.aborted) {
        this.#become(refusal(error));
      }
      return undefined;
    }
  }

  async #reached(signal: AbortSignal): Promise<Dialled> {
    try {
      return await dial(this.#world.sockets(), signal);
    } catch (error) {
      if (!(error instanceof NobodyListens)) {
        throw error;
      }
      if (this.#died() && this.#world.autoStart()) {
        this.#startRequested ||= this.#deaths.note(Date.now());
        this.#startProblem = this.#startRequested ? undefined : DIES;
      }
      if (!this.#startRequested) {
        throw new Error(this.#startProblem ?? `The daemon does not run: ${error.message}.`);
      }
    }
    const against = this.#world.noStart();
    if (against !== undefined) {
      throw new Error(`The daemon does not run, and ${against}.`);
    }
    return await this.#started(signal);
  }

  async #started(signal: AbortSignal): Promise<Dialled> {
    const found = await this.#world.findCommand(signal);
    if (found.kind !== "found") {
      throw new NoCommand(found);
    }
    // One start per request: a failure is reported, and the next request tries again.
    this.#startRequested = false;
    this.#startProblem = undefined;
    this.#become({ kind: "connecting" });
    try {
      await this.#world.start(found.file, signal);
      return await dial(this.#world.sockets(), signal);
    } catch (error) {
      this.#startProblem = `The daemon could not be started: ${(error as Error).message}`;
      throw new Error(this.#startProblem);
    }
  }

  async #greeted(socket: net.Socket, signal: AbortSignal): Promise<Attachment> {
    const late = AbortSignal.timeout(this.#world.patience);
    try {
      return await this.#world.greet(socket, AbortSignal.any([signal, late]));
    } catch (error) {
      throw late.aborted ? new Error("The daemon took the connection and did not answer.") : error;
    }
  }

  /** Whether the last attached daemon died. A daemon that stops in order removes its endpoint file. */
  #died(): boolean {
    const endpoint = readEndpoint(this.#world.endpoint());
    if (this.#lastPid === undefined || endpoint?.pid !== this.#lastPid || isAlive(endpoint)) {
      return false;
    }
    this.#lastPid = undefined;
    return true;
  }

  #answer(asking: readonly ((state: DaemonState) => void)[]): void {
    for (const resolve of asking) {
      resolve(this.#state);
    }
  }

  #pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (signal.aborted) {
        this.#wake();
      }
    });
  }

  #become(state: DaemonState): void {
    const same = JSON.stringify(state) === JSON.stringify(this.#state);
    if (!same && !this.#closed) {
      this.#state = state;
      this.#notifyWatchers();
      this.#world.changed(state);
    }
  }

  #notifyWatchers(): void {
    for (const look of [...this.#watchers]) {
      look();
    }
  }
}

/** There is nothing to start the daemon with. */
class NoCommand extends Error {
  readonly found: Exclude<Found, { kind: "found" }>;

  constructor(found: Exclude<Found, { kind: "found" }>) {
    super(found.kind);
    this.found = found;
  }
}

function refusal(error: unknown): DaemonState {
  if (error instanceof NoCommand) {
    const { found } = error;
    return found.kind === "missing"
      ? { kind: "missing", reason: found.reason }
      : {
          kind: "mismatch",
          ours: `sessiond ${OLDEST} or newer`,
          theirs: `sessiond ${found.version} (${found.file})`,
        };
  }
  if (error instanceof DaemonError && error.kind === "unsupportedVersion") {
    const supported = error.details("unsupportedVersion")?.supportedVersions?.join(", ") ?? "unknown";
    return { kind: "mismatch", ours: `protocol ${protocolVersion}`, theirs: `protocol ${supported}` };
  }
  return { kind: "offline", reason: (error as Error).message };
}
