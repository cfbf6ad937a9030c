// The states of the daemon: restarted, killed, offline, missing, of another version.
import * as assert from "node:assert/strict";
import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { becomes, type Desk, eventually, extension, folder, open, set } from "./desk.ts";
import type { Cases } from "./suite.ts";

const run = promisify(execFile);

export function states(desk: Desk): Cases {
  const [command = "", ...words] = desk.sessiond;
  const sessiond = (...more: string[]) => run(command, [...words, ...more], { cwd: folder() });
  return {
    "the extension attaches again after the daemon was restarted": async () => {
      const before = await becomes("attached");
      await sessiond("restart");
      const { daemon } = extension().exports;
      const after = await eventually("another daemon", () =>
        daemon.state.kind === "attached" && daemon.state.epoch !== before.epoch ? daemon.state : undefined,
      );
      assert.notEqual(after.pid, before.pid);
      const { session } = await daemon.request("session/info", { sessionId: desk.sessionId });
      assert.equal(session.sessionId, desk.sessionId);
    },
    "language features work after the daemon was restarted": async () => {
      const document = await open(desk.file);
      const outline = () =>
        vscode.commands.executeCommand<vscode.DocumentSymbol[]>("vscode.executeDocumentSymbolProvider", document.uri);
      await eventually("an outline", async () => ((await outline())?.length ? true : undefined));
    },
    "a daemon that was killed is started again": async () => {
      const before = await becomes("attached");
      assert.ok(before.pid);
      process.kill(before.pid, "SIGKILL");
      const { daemon } = extension().exports;
      await eventually("another daemon", () =>
        daemon.state.kind === "attached" && daemon.state.epoch !== before.epoch ? true : undefined,
      );
    },
    "a change is made once if the daemon is killed before it responds": async () => {
      const { pid } = await becomes("attached");
      assert.ok(pid);
      const { daemon } = extension().exports;
      const all = async () => (await daemon.request("session/list", {})).sessions;
      const before = (await all()).length;
      process.kill(pid, "SIGSTOP");
      const forked = daemon.request("session/fork", { sessionId: desk.sessionId });
      process.kill(pid, "SIGKILL");
      const { sessionId } = (await forked).session;
      const after = await all();
      assert.equal(after.length, before + 1);
      assert.equal(after.filter((it) => it.sessionId === sessionId).length, 1);
    },
    "without a daemon, requests fail at once": async () => {
      await set("socket", path.join(os.tmpdir(), "sessiond-nowhere.sock"));
      await becomes("offline");
      const { daemon } = extension().exports;
      await assert.rejects(daemon.request("session/list", {}), { kind: "notAttached" });
    },
    "a daemon with another protocol version is a mismatch": async () => {
      const incompatible = await anIncompatibleServer();
      try {
        await set("socket", incompatible.socket);
        const state = await becomes("mismatch");
        assert.match(state.found, /99/);
      } finally {
        await incompatible.close();
        await set("socket", undefined);
      }
      await becomes("attached");
    },
    "without the command, the state is missing": async () => {
      await set("path", "/nowhere/sessiond");
      await set("home", fs.mkdtempSync(path.join(os.tmpdir(), "sd-none-")));
      await becomes("offline");
      // The command shows a message and waits for the user.
      void vscode.commands.executeCommand("sessiond.startDaemon");
      const state = await becomes("missing");
      assert.match(state.reason, /nowhere/);
    },
  };
}

/** A server that rejects every handshake with another version. */
async function anIncompatibleServer(): Promise<{ socket: string; close: () => Promise<void> }> {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), "sd-other-"));
  const socket = path.join(place, "s.sock");
  const server = net.createServer((connection) => {
    let read = "";
    connection.on("error", () => undefined);
    connection.on("data", (chunk) => {
      read += chunk.toString("utf8");
      const id = /"id":\s*("[^"]*"|\d+)/.exec(read)?.[1];
      if (id !== undefined) {
        const data = { kind: "unsupportedVersion", retryable: false, details: { supportedVersions: [99] } };
        const error = JSON.stringify({ code: 1426, message: "Another version.", data });
        const body = `{"jsonrpc":"2.0","id":${id},"error":${error}}`;
        connection.end(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return {
    socket,
    close: async () => {
      await new Promise((resolve) => server.close(resolve));
      fs.rmSync(place, { recursive: true });
    },
  };
}
