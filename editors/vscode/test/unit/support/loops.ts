// A connection loop at the home of a test, with a record of its states.
import type { TestContext } from "node:test";
import type { Found } from "../../../src/daemon/command.ts";
import type { DaemonState } from "../../../src/daemon/daemon.ts";
import { sockets } from "../../../src/daemon/endpoint.ts";
import { AttachLoop, type LoopEnvironment } from "../../../src/daemon/loop.ts";
import { daemonEnvironment, start } from "../../../src/daemon/start.ts";
import { handshake, type Home, SESSIOND } from "./daemons.ts";

export interface RecordedLoop {
  loop: AttachLoop;
  states: DaemonState[];
  kinds(): string[];
  starts: number;
}

/** The command of this checkout. */
export const FOUND: Found = { kind: "found", file: SESSIOND, from: "the test", version: "0.1.0" };

/** A loop at a home, as in a window. `other` replaces parts of its environment. */
export function aLoop(t: TestContext, home: Home, other: Partial<LoopEnvironment> = {}): RecordedLoop {
  const states: DaemonState[] = [];
  const recorded = { states, starts: 0, kinds: () => states.map(({ kind }) => kind) };
  const loop = new AttachLoop({
    unsupportedReason: () => undefined,
    sockets: () => sockets("", home.paths),
    endpoint: () => home.paths.endpoint,
    noStartReason: () => undefined,
    autoStart: () => true,
    findCommand: () => Promise.resolve(FOUND),
    start: (command, signal) => {
      result.starts += 1;
      return start(command, daemonEnvironment(home.environment, ""), signal);
    },
    handshake,
    handshakeTimeoutMs: 60_000,
    changed: (state) => states.push(state),
    ...other,
  });
  const result: RecordedLoop = Object.assign(recorded, { loop });
  t.after(() => loop.close());
  return result;
}
