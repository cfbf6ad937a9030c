// A proxy to the daemon that can lose a response: the daemon executes the request, and the connection ends.
import * as net from "node:net";
import * as path from "node:path";
import type { TestContext } from "node:test";
import type { Home } from "./daemons.ts";

export interface LossyProxy {
  readonly socket: string;
  /** End the connection at the next output of the daemon, after calling `then`. */
  loseResponse(then?: () => void): void;
}

export async function aLossyProxy(t: TestContext, home: Home): Promise<LossyProxy> {
  const socket = path.join(home.folder, "lossy.sock");
  let losing: (() => void) | undefined;
  const proxy = {
    socket,
    loseResponse: (then: () => void = () => undefined) => {
      losing = then;
    },
  };
  const server = net.createServer((client) => {
    const daemon = net.connect(home.paths.socket);
    for (const [one, other] of [
      [client, daemon],
      [daemon, client],
    ] as const) {
      one.on("error", () => undefined);
      one.on("close", () => other.destroy());
    }
    client.pipe(daemon);
    daemon.on("data", (output) => {
      if (losing === undefined) {
        client.write(output);
      } else {
        losing();
        losing = undefined;
        client.destroy();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  t.after(() => server.close());
  return proxy;
}
