// Starts the daemon with its command. Independent of VS Code.
import { execFile } from "node:child_process";
import * as os from "node:os";
import type { Environment } from "./paths.ts";

/** The command returns when the daemon listens. */
const START_TIMEOUT_MS = 60_000;

/**
 * Run `sessiond serve --detach`, which returns once clients can connect. Rejects with its output.
 *
 * Concurrent starts are safe: one daemon runs afterwards.
 */
export function start(command: string, environment: Environment, signal: AbortSignal): Promise<void> {
  const options = {
    cwd: os.homedir(), // never the workspace, whose files Python might pick up
    env: environment as NodeJS.ProcessEnv,
    timeout: START_TIMEOUT_MS,
    killSignal: "SIGKILL",
    signal,
    encoding: "utf8",
  } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(command, ["serve", "--detach"], options, (error, stdout, stderr) => {
      if (error === null) {
        resolve();
      } else if (error.killed) {
        reject(new Error(`${command} did not start the daemon in time`));
      } else {
        reject(new Error((stderr || stdout).trim() || error.message));
      }
    });
    child.stdin?.end();
  });
}

/** The environment for the daemon: that of this process without the variables of VS Code itself. */
export function daemonEnvironment(environment: Environment, home: string): Environment {
  const inherited = Object.entries(environment).filter(([name]) => !/^(VSCODE_|ELECTRON_)/.test(name));
  return { ...Object.fromEntries(inherited), ...(home ? { SESSIOND_HOME: home } : {}) };
}
