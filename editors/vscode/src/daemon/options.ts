// The client information of the handshake. Independent of VS Code.
import { createHash } from "node:crypto";
import { type InitializeOptions, type LspOptions, protocolVersion, type Terminal } from "../protocol.ts";

/**
 * Where this window sits, for the daemon to find its session again: the workspace, which a window keeps when it is
 * opened again; a window without one is only itself. `workspace` is the address of the workspace file or of the only
 * folder, `window` names the window as long as it lives.
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
export function greeting(clientId: string, where: Terminal, lsp: LspOptions): InitializeOptions {
  return { protocolVersions: [protocolVersion], clientId, terminal: where, lsp };
}
