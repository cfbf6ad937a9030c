// The texts of the status item and its menu for each state of the daemon. Independent of VS Code.
import type { DaemonState } from "./daemon/daemon.ts";

export interface StatusText {
  /** A codicon's name. */
  icon: string;
  /** The text beside the icon, sufficient for screen readers. */
  summary: string;
  /** Sentences that describe the state and what to do. Plain text, not Markdown. */
  detail: string;
  /** Commands for this state, the most useful first. */
  commands: readonly string[];
  /** Whether the state needs attention. */
  warns: boolean;
}

const LOGS = ["sessiond.showClientLog", "sessiond.showDaemonLog", "sessiond.copyDebugInformation"];

export function statusText(state: DaemonState): StatusText {
  switch (state.kind) {
    case "attached": {
      const pid = state.pid === undefined ? "" : `, process ${state.pid}`;
      return {
        icon: "type-hierarchy",
        summary: "attached",
        detail: `Attached to sessiond ${state.version} at ${state.socket}${pid}.`,
        commands: ["sessiond.restartClient", "sessiond.stopDaemon", ...LOGS],
        warns: false,
      };
    }
    case "connecting":
      return {
        icon: "sync~spin",
        summary: "connecting",
        detail: "Connecting to the daemon, or starting it.",
        commands: ["sessiond.restartClient", ...LOGS],
        warns: false,
      };
    case "offline":
      return {
        icon: "debug-disconnect",
        summary: "offline",
        detail: `${state.reason} The extension keeps trying to connect.`,
        commands: ["sessiond.startDaemon", "sessiond.restartClient", ...LOGS],
        warns: false,
      };
    case "missing":
      return {
        icon: "warning",
        summary: "not installed",
        detail: state.reason,
        commands: ["sessiond.installDaemon", "sessiond.openPathSetting", "sessiond.startDaemon", ...LOGS],
        warns: true,
      };
    case "mismatch":
      return {
        icon: "warning",
        summary: "version mismatch",
        detail:
          `This extension needs ${state.needed}; found ${state.found}. Update the older of the two. ` +
          "After an update of sessiond run `sessiond restart` in a terminal.",
        commands: ["sessiond.installDaemon", "sessiond.openPathSetting", "sessiond.restartClient", ...LOGS],
        warns: true,
      };
    case "stopped":
      return {
        icon: "debug-pause",
        summary: "stopped",
        detail: "The daemon was stopped from this window. The extension does not reconnect.",
        commands: ["sessiond.startDaemon", ...LOGS],
        warns: false,
      };
  }
}
