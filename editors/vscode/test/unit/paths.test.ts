import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { test, type TestContext } from "node:test";
import { dial, NoListener, ConnectionRefused } from "../../src/daemon/dial.ts";
import { isAlive, sockets, unsafeReason } from "../../src/daemon/endpoint.ts";
import { SESSIOND } from "./support/daemons.ts";

const LINUX = process.platform === "linux";
const NEVER = new AbortController().signal;

function aFolder(t: TestContext): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "vs-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("the published socket comes before the default one, and a socket in the settings is the only one", (t) => {
  const folder = aFolder(t);
  const paths = { endpoint: path.join(folder, "endpoint.json"), socket: "/run/a.sock", log: "" };
  assert.deepEqual(sockets("", paths), ["/run/a.sock"]);
  fs.writeFileSync(paths.endpoint, JSON.stringify({ socket: "/run/b.sock" }));
  assert.deepEqual(sockets("", paths), ["/run/b.sock", "/run/a.sock"]);
  assert.deepEqual(sockets("/run/c.sock", paths), ["/run/c.sock"]);
});

test("a process is alive only if it is the one that wrote the endpoint file", { skip: !LINUX }, () => {
  const stat = fs.readFileSync(`/proc/${process.pid}/stat`, "utf8");
  const startTime = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
  assert.ok(isAlive({ socket: "", pid: process.pid, startTime }));
  assert.ok(!isAlive({ socket: "", pid: process.pid, startTime: startTime + 1 }));
  assert.ok(isAlive({ socket: "", pid: process.pid }));
});

test("a socket that another user could have created is not used", async (t) => {
  const folder = aFolder(t);
  fs.chmodSync(folder, 0o777);
  assert.ok(unsafeReason(path.join(folder, "a.sock")));
  await assert.rejects(dial([path.join(folder, "a.sock")], NEVER), ConnectionRefused);
  await assert.rejects(dial(["relative.sock"], NEVER), ConnectionRefused);
});

test("no process listens at a missing socket, or at one that was left behind", async (t) => {
  const folder = aFolder(t);
  const left = path.join(folder, "left.sock");
  const bind = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])";
  execFileSync(path.join(path.dirname(SESSIOND), "python"), ["-c", bind, left]);
  await assert.rejects(dial([path.join(folder, "none.sock"), left], NEVER), NoListener);
});

test("the first socket with a listener is used", async (t) => {
  const folder = aFolder(t);
  const listening = path.join(folder, "b.sock");
  const server = net.createServer((socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(listening, resolve));
  t.after(() => server.close());
  const dialed = await dial([path.join(folder, "a.sock"), listening], NEVER);
  assert.equal(dialed.path, listening);
  dialed.socket.destroy();
});

test("a canceled attempt ends", async (t) => {
  const folder = aFolder(t);
  const canceled = AbortSignal.abort();
  await assert.rejects(dial([path.join(folder, "a.sock")], canceled));
});
