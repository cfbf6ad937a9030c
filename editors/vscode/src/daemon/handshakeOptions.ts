// The client information of the handshake. Independent of VS Code.
import { createHash } from "node:crypto";
import { type InitializeOptions, type LspOptions, protocolVersion, type Terminal } from "../protocol.ts";

/**
 * The terminal of this window, by which the daemon resumes its session. A window has the same terminal when its
 * workspace is opened again. `workspace` is the URI of the workspace file or of the first folder; without one,
 * `window` identifies the window until it is closed.
 */
export function terminal(
  workspace: string | undefined,
  window: string,
  cwd: string | undefined,
  pid: number,
): Terminal {
  const name = createHash("sha256").update(workspace ?? window).digest("hex").slice(0, 32);
  return { id: `vscode:${name}`, kind: "vscode", pid, ...(cwd === undefined ? {} : { cwd }) };
}

/** `initializationOptions.sessiond`. */
export function handshakeOptions(clientId: string, from: Terminal, lsp: LspOptions): InitializeOptions {
  return { protocolVersions: [protocolVersion], clientId, terminal: from, lsp };
}
