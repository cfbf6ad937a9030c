import assert from "node:assert/strict";
import { test } from "node:test";
import type { PageRow, ViewPageResult } from "../../src/protocol.ts";
import { Feed } from "../../src/transcript/feed.ts";

/** A daemon whose session grows; it answers when it is let. */
class Session {
  seq = 0;
  readonly given: { ids: string[]; first: number }[] = [];
  readonly failures: unknown[] = [];
  readonly asked: number[] = [];
  partRows = 2;
  refusal: Error | undefined;
  #held: (() => void)[] = [];
  #holds = false;

  readonly feed = new Feed({
    ask: async (position) => {
      const after = position?.seq ?? 0;
      assert.ok(position === undefined || position.logId === "log-1");
      this.asked.push(after);
      const part = this.#part(after);
      if (this.#holds) {
        await new Promise<void>((go) => this.#held.push(go));
      }
      if (this.refusal) {
        throw this.refusal;
      }
      return part;
    },
    give: ({ rows }, first) => this.given.push({ ids: rows.map(({ id }) => id), first }),
    failed: (error) => this.failures.push(error),
  });

  hold(): void {
    this.#holds = true;
  }

  letGo(): void {
    this.#holds = false;
    for (const go of this.#held.splice(0)) {
      go();
    }
  }

  #part(after: number): ViewPageResult {
    const toSeq = Math.min(this.seq, after + this.partRows);
    const rows = Array.from({ length: toSeq - after }, (_, at) => ({ id: `e${after + at + 1}` }) as PageRow);
    return { session: {} as ViewPageResult["session"], rows, marks: [], logId: "log-1", toSeq, lastSeq: this.seq };
  }
}

/** Until all that can happen without us has happened. */
const settled = () => new Promise((done) => setImmediate(done));

test("a session comes in parts, each behind the one before", async () => {
  const session = new Session();
  session.seq = 5;
  session.feed.begin();
  await settled();
  assert.deepEqual(session.given, [
    { ids: ["e1", "e2"], first: 0 },
    { ids: ["e3", "e4"], first: 2 },
    { ids: ["e5"], first: 4 },
  ]);
});

test("an empty session is told of, too", async () => {
  const session = new Session();
  session.feed.begin();
  await settled();
  assert.deepEqual(session.given, [{ ids: [], first: 0 }]);
});

test("what is appended comes once, however often it is told of", async () => {
  const session = new Session();
  session.seq = 2;
  session.feed.begin();
  await settled();
  session.seq = 3;
  session.feed.wake();
  session.feed.wake();
  await settled();
  session.feed.wake();
  await settled();
  assert.deepEqual(
    session.given.flatMap(({ ids }) => ids),
    ["e1", "e2", "e3"],
  );
});

test("what is appended while a part is under way is asked for behind it", async () => {
  const session = new Session();
  session.seq = 1;
  session.hold();
  session.feed.begin();
  await settled();
  session.seq = 2;
  session.feed.wake();
  session.letGo();
  await settled();
  assert.deepEqual(session.given, [
    { ids: ["e1"], first: 0 },
    { ids: ["e2"], first: 1 },
  ]);
});

test("a document that begins anew is given nothing that was asked for before", async () => {
  const session = new Session();
  session.seq = 4;
  session.feed.begin();
  await settled();
  session.given.length = 0;
  session.seq = 5;
  session.hold();
  session.feed.wake();
  session.feed.begin();
  session.letGo();
  await settled();
  assert.deepEqual(
    session.given.map(({ first }) => first),
    [0, 2, 4],
  );
});

test("nothing is asked for a document that has not begun, or is gone", async () => {
  const session = new Session();
  session.feed.wake();
  await settled();
  session.feed.begin();
  session.feed.end();
  session.feed.wake();
  await settled();
  assert.deepEqual(session.given, []);
});

test("after a failure it goes on behind the last row that was given", async () => {
  const session = new Session();
  session.seq = 2;
  session.feed.begin();
  await settled();
  session.seq = 3;
  session.refusal = new Error("away");
  session.feed.wake();
  await settled();
  assert.equal(session.failures.length, 1);
  session.refusal = undefined;
  session.feed.wake();
  await settled();
  assert.deepEqual(session.given.at(-1), { ids: ["e3"], first: 2 });
});
