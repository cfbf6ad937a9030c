// The cases that all clients share: tests/data/clients.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test, type TestContext } from "node:test";
import { sockets } from "../../src/daemon/endpoint.ts";
import { DaemonError } from "../../src/daemon/errors.ts";
import type { Attachment } from "../../src/daemon/loop.ts";
import { daemonPaths } from "../../src/daemon/paths.ts";
import { pauses } from "../../src/daemon/restartLimit.ts";
import { prepare, sendWithRetry } from "../../src/daemon/retry.ts";

interface Table {
  readonly paths: readonly {
    readonly name: string;
    readonly environment: Readonly<Record<string, string>>;
    readonly option?: string;
    readonly state: string;
    readonly socket: string;
    readonly unless?: string;
  }[];
  readonly sockets: readonly { readonly name: string; readonly endpoint: string | null; readonly sockets: readonly string[] }[];
  readonly requests: readonly {
    readonly name: string;
    readonly method: string;
    readonly params: object;
    readonly sent: object;
    readonly repeatable: boolean;
  }[];
  readonly outcomes: readonly {
    readonly repeatable: boolean;
    readonly answers: readonly string[];
    readonly sent: number;
    readonly outcome: string;
  }[];
  readonly pauses: readonly number[];
}

const LINUX = process.platform === "linux";
const TABLE = JSON.parse(
  fs.readFileSync(new URL("../../../../tests/data/clients/cases.json", import.meta.url), "utf8"),
) as Table;

/** A function that replaces the placeholders of the table. Its folders are short enough for a socket. */
function filler(t: TestContext): <V>(value: V) => V {
  const folder = fs.mkdtempSync("/tmp/vs-");
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const [priv, open, link] = ["private", "open", "link"].map((name) => path.join(folder, name)) as [string, string, string];
  fs.mkdirSync(priv, { mode: 0o700 });
  fs.mkdirSync(open);
  fs.chmodSync(open, 0o755);
  fs.symlinkSync(priv, link);
  const { homedir, username, uid } = os.userInfo();
  const placed = Object.entries({ private: priv, open, link, user: homedir, name: username, uid: String(uid) });
  return (value) =>
    JSON.parse(placed.reduce((text, [name, it]) => text.replaceAll(`{${name}}`, it), JSON.stringify(value)));
}

test("paths", { skip: !LINUX }, (t) => {
  const before = process.cwd();
  t.after(() => process.chdir(before));
  process.chdir("/");
  const fill = filler(t);
  for (const { name, environment, option, state, socket, unless } of TABLE.paths.map((row) => fill(row))) {
    if (unless === undefined || !fs.existsSync(unless)) {
      const expected = { endpoint: `${state}/endpoint.json`, socket, log: `${state}/sessiond.log` };
      assert.deepEqual(daemonPaths(option ?? "", environment), expected, name);
    }
  }
});

test("sockets", (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "vs-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const paths = { endpoint: path.join(folder, "endpoint.json"), socket: path.join(folder, "sessiond.sock"), log: "" };
  const fill = (text: string) => text.replaceAll("{socket}", paths.socket);
  for (const { name, endpoint, sockets: expected } of TABLE.sockets) {
    fs.rmSync(paths.endpoint, { force: true });
    if (endpoint !== null) {
      fs.writeFileSync(paths.endpoint, fill(endpoint));
    }
    assert.deepEqual(sockets("", paths), expected.map(fill), name);
  }
});

for (const { name, method, params, sent, repeatable } of TABLE.requests) {
  test(`a repeatable request: ${name}`, () => {
    const prepared = prepare(method, params);
    const given = JSON.stringify(params);
    const withNew = JSON.parse(JSON.stringify(prepared.params), (key, value: unknown) =>
      ["id", "commandId"].includes(key) && typeof value === "string" && !given.includes(JSON.stringify(value)) ? "<new>" : value,
    );
    assert.deepEqual([withNew, prepared.isRepeatable], [sent, repeatable]);
  });
}

for (const { repeatable, answers, sent: expected, outcome } of TABLE.outcomes) {
  test(`a ${repeatable ? "repeatable" : "single"} request: ${answers.join(", ")}`, async () => {
    const facts = { version: "", epoch: "", methods: [] };
    const attachment = (): Attachment => ({ facts, ended: Promise.resolve(), end: () => Promise.resolve() });
    const connections = {
      state: { kind: "attached", socket: "", ...facts },
      attachment: attachment(),
      next: () => Promise.resolve(attachment()),
    } as const;
    const sent: object[] = [];
    const kinds = { draining: "draining", lost: "disconnected", refused: "readOnly" } as const;
    const send = (_: Attachment, params: object) => {
      const answer = answers[sent.length];
      sent.push(params);
      return answer === "ok" ? Promise.resolve("ok") : Promise.reject(new DaemonError(kinds[answer as "lost"], ""));
    };
    const request = prepare(repeatable ? "session/rename" : "session/close", { sessionId: "s" });
    const found = await sendWithRetry(connections, request, send).catch((error: unknown) => (error as DaemonError).kind);
    assert.deepEqual([found === "readOnly" ? "refused" : found, sent.length], [outcome, expected]);
    assert.ok(sent.every((params) => params === request.params));
  });
}

test("pauses", () => {
  const times = pauses();
  assert.deepEqual(TABLE.pauses.map(() => times.next().value), TABLE.pauses);
});
