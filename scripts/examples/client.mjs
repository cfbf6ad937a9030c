// A client: append each line of the input to a new session, and print what anybody appends to it.
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createConnection } from "node:net";
import { createInterface } from "node:readline";

const session = randomUUID();
const waiting = new Map(); // requests without a response, by id
let socket, connected, number = 0, after = null; // `after`: the last line that was printed

// Start the daemon if none runs, and go on after the last line.
async function connect() {
  execFileSync("sessiond", ["serve", "--detach"], { stdio: "ignore" });
  socket = createConnection(execFileSync("sessiond", ["status", "--socket"], { encoding: "utf8" }).trim());
  socket.on("error", () => undefined); // "close" follows
  socket.on("close", () => {
    for (const [id, { reject }] of waiting) waiting.delete(id) && reject(new Error("The connection is closed."));
    connected = connect();
    connected.catch(() => undefined); // it is awaited before the next request
  });
  const lines = createInterface({ input: socket }).on("error", () => undefined);
  lines.on("line", (line) => received(JSON.parse(line)));
  // Requests with the same `commandId` take effect once: a second connection makes no second session.
  await call("session/create", { cwd: process.argv[2], id: session, commandId: `create ${session}` });
  await call("session/subscribe", { sessionId: session, after });
}

function call(method, params) {
  const id = ++number;
  socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

function received({ id, method, params, result, error }) {
  if (method === "session/appended") {
    after = { logId: params.logId, seq: params.toSeq };
    console.log("appended:", ...params.items.map(({ entry }) => entry.id));
  } else if (waiting.has(id)) {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    error ? reject(Object.assign(new Error(error.message), error.data)) : resolve(result);
  }
}

await (connected = connect());
console.log("session:", session);
for await (const content of createInterface({ input: process.stdin })) {
  const entries = [{ type: "message", id: randomUUID(), message: { role: "user", content } }];
  for (let isStored = false; !isStored; ) {
    try {
      await connected;
      await call("session/append", { sessionId: session, entries });
      isStored = true;
      console.log("messages:", (await call("session/context", { sessionId: session })).messageCount);
    } catch (error) {
      if (error.kind) throw error; // otherwise the daemon has ended; an entry with an id may be sent again
    }
  }
}
process.exit();
