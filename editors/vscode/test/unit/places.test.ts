import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { test, type TestContext } from "node:test";
import { dial, NobodyListens, NotTaken } from "../../src/daemon/dial.ts";
import { isAlive, readEndpoint, sockets, unsafe } from "../../src/daemon/endpoint.ts";
import { places } from "../../src/daemon/places.ts";
import { SESSIOND } from "./support/daemons.ts";

const LINUX = process.platform === "linux";
const NEVER = new AbortController().signal;
const PRINT = `
import json, os
from sessiond.paths import places
where = places()
print(json.dumps({"endpoint": where.endpoint, "socket": where.socket, "log": where.log}))
`;

function aFolder(t: TestContext): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "vs-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What the daemon itself works out. */
function theirs(environment: Record<string, string>): unknown {
  const python = path.join(path.dirname(SESSIOND), "python");
  return JSON.parse(execFileSync(python, ["-I", "-c", PRINT], { env: environment, encoding: "utf8" }));
}

test("everything is where the daemon says it is, whatever the environment", (t) => {
  const folder = aFolder(t);
  const runtime = path.join(folder, "run");
  const open = path.join(folder, "open");
  fs.mkdirSync(runtime, { mode: 0o700 });
  fs.mkdirSync(open);
  fs.chmodSync(open, 0o755);
  const { homedir } = os.userInfo();
  const environments: Record<string, string>[] = [
    { SESSIOND_HOME: "/x" },
    { SESSIOND_HOME: "/x/../y/" },
    { SESSIOND_HOME: "~/sd", HOME: "/home/ada" },
    { SESSIOND_HOME: `/${"x".repeat(120)}` },
    { SESSIOND_HOME: `/${"ä".repeat(60)}`, XDG_RUNTIME_DIR: runtime },
    { HOME: "/home/ada", XDG_RUNTIME_DIR: runtime },
    { HOME: homedir, XDG_RUNTIME_DIR: runtime },
    { HOME: homedir, XDG_RUNTIME_DIR: open },
    { HOME: homedir, XDG_STATE_HOME: "relative", XDG_RUNTIME_DIR: runtime },
    { HOME: "/home/ada", XDG_STATE_HOME: "/var/state/", XDG_RUNTIME_DIR: runtime },
  ];
  for (const environment of environments) {
    assert.deepEqual(places("", environment), theirs(environment), JSON.stringify(environment));
  }
});

test("the setting of the home wins over the environment", () => {
  const environment = { SESSIOND_HOME: "/other", HOME: "/home/ada" };
  assert.deepEqual(places("~/mine", environment), places("", { SESSIOND_HOME: "/home/ada/mine" }));
});

test("the socket that the daemon told comes before the usual one, and the chosen one is the only one", (t) => {
  const folder = aFolder(t);
  const where = { endpoint: path.join(folder, "endpoint.json"), socket: "/run/a.sock", log: "" };
  assert.deepEqual(sockets("", where), ["/run/a.sock"]);
  fs.writeFileSync(where.endpoint, JSON.stringify({ socket: "/run/b.sock" }));
  assert.deepEqual(sockets("", where), ["/run/b.sock", "/run/a.sock"]);
  assert.deepEqual(sockets("/run/c.sock", where), ["/run/c.sock"]);
});

test("an endpoint that is torn, or nonsense, is none", (t) => {
  const file = path.join(aFolder(t), "endpoint.json");
  for (const text of ["", '{"socket":', "null", "[]", '{"socket": 7}', '"text"']) {
    fs.writeFileSync(file, text);
    assert.equal(readEndpoint(file), undefined, text);
  }
});

test("a process is alive when it is the very one that wrote the endpoint", { skip: !LINUX }, () => {
  const stat = fs.readFileSync(`/proc/${process.pid}/stat`, "utf8");
  const startTime = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
  assert.ok(isAlive({ socket: "", pid: process.pid, startTime }));
  assert.ok(!isAlive({ socket: "", pid: process.pid, startTime: startTime + 1 }));
  assert.ok(isAlive({ socket: "", pid: process.pid }));
});

test("a socket that others could have put there is not used", async (t) => {
  const folder = aFolder(t);
  fs.chmodSync(folder, 0o777);
  assert.ok(unsafe(path.join(folder, "a.sock")));
  await assert.rejects(dial([path.join(folder, "a.sock")], NEVER), NotTaken);
  await assert.rejects(dial(["relative.sock"], NEVER), NotTaken);
});

test("nobody listens where there is no socket, and where one was left behind", async (t) => {
  const folder = aFolder(t);
  const left = path.join(folder, "left.sock");
  const bind = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])";
  execFileSync(path.join(path.dirname(SESSIOND), "python"), ["-c", bind, left]);
  await assert.rejects(dial([path.join(folder, "none.sock"), left], NEVER), NobodyListens);
});

test("the first socket at which somebody listens is taken", async (t) => {
  const folder = aFolder(t);
  const listening = path.join(folder, "b.sock");
  const server = net.createServer((socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(listening, resolve));
  t.after(() => server.close());
  const dialled = await dial([path.join(folder, "a.sock"), listening], NEVER);
  assert.equal(dialled.path, listening);
  dialled.socket.destroy();
});

test("a look that was given up before it began ends", async (t) => {
  const folder = aFolder(t);
  const given = AbortSignal.abort();
  await assert.rejects(dial([path.join(folder, "a.sock")], given));
});
