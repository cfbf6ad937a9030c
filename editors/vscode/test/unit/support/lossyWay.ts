// A way to the daemon on which an answer can be lost: the daemon does what it was asked, and nobody hears of it.
import * as net from "node:net";
import * as path from "node:path";
import type { TestContext } from "node:test";
import type { Home } from "./daemons.ts";

export interface LossyWay {
  readonly socket: string;
  /** Have the connection end with the next thing that the daemon says; `then` is called first. */
  loseAnswer(then?: () => void): void;
}

export async function aLossyWay(t: TestContext, home: Home): Promise<LossyWay> {
  const socket = path.join(home.folder, "lossy.sock");
  let losing: (() => void) | undefined;
  const way = {
    socket,
    loseAnswer: (then: () => void = () => undefined) => {
      losing = then;
    },
  };
  const server = net.createServer((client) => {
    const daemon = net.connect(home.places.socket);
    for (const [one, other] of [
      [client, daemon],
      [daemon, client],
    ] as const) {
      one.on("error", () => undefined);
      one.on("close", () => other.destroy());
    }
    client.pipe(daemon);
    daemon.on("data", (said) => {
      if (losing === undefined) {
        client.write(said);
      } else {
        losing();
        losing = undefined;
        client.destroy();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  t.after(() => server.close());
  return way;
}
