// The loop that attaches, at a home of a test's own, with what became of it.
import type { TestContext } from "node:test";
import type { Found } from "../../../src/daemon/command.ts";
import type { DaemonState } from "../../../src/daemon/daemon.ts";
import { sockets } from "../../../src/daemon/endpoint.ts";
import { AttachLoop, type Surroundings } from "../../../src/daemon/loop.ts";
import { environmentOfDaemon, start } from "../../../src/daemon/start.ts";
import { greet, type Home, SESSIOND } from "./daemons.ts";

export interface Watched {
  loop: AttachLoop;
  states: DaemonState[];
  kinds(): string[];
  starts: number;
}

/** The command of this checkout. */
export const FOUND: Found = { kind: "found", file: SESSIOND, from: "the test", version: "0.1.0" };

/** A loop at a home, as a window would have it; `other` changes its world. */
export function aLoop(t: TestContext, home: Home, other: Partial<Surroundings> = {}): Watched {
  const states: DaemonState[] = [];
  const watched = { states, starts: 0, kinds: () => states.map(({ kind }) => kind) };
  const loop = new AttachLoop({
    impossible: () => undefined,
    sockets: () => sockets("", home.places),
    endpoint: () => home.places.endpoint,
    noStart: () => undefined,
    autoStart: () => true,
    findCommand: () => Promise.resolve(FOUND),
    start: (command, signal) => {
      result.starts += 1;
      return start(command, environmentOfDaemon(home.environment, ""), signal);
    },
    greet,
    patience: 60_000,
    changed: (state) => states.push(state),
    ...other,
  });
  const result: Watched = Object.assign(watched, { loop });
  t.after(() => loop.close());
  return result;
}
