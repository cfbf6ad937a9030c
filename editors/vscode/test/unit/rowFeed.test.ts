import assert from "node:assert/strict";
import { test } from "node:test";
import type { PageRow, ViewPageResult } from "../../src/protocol.ts";
import { RowFeed } from "../../src/transcript/rowFeed.ts";

/** A daemon with a session that grows. Its responses can be delayed. */
class Session {
  seq = 0;
  readonly sent: { ids: string[]; first: number }[] = [];
  readonly failures: unknown[] = [];
  readonly requested: number[] = [];
  partRows = 2;
  error: Error | undefined;
  #held: (() => void)[] = [];
  #isHolding = false;

  readonly feed = new RowFeed({
    request: async (position) => {
      const after = position?.seq ?? 0;
      assert.ok(position === undefined || position.logId === "log-1");
      this.requested.push(after);
      const part = this.#part(after);
      if (this.#isHolding) {
        await new Promise<void>((resolve) => this.#held.push(resolve));
      }
      if (this.error) {
        throw this.error;
      }
      return part;
    },
    send: ({ rows }, first) => this.sent.push({ ids: rows.map(({ id }) => id), first }),
    failed: (error) => this.failures.push(error),
  });

  hold(): void {
    this.#isHolding = true;
  }

  release(): void {
    this.#isHolding = false;
    for (const resolve of this.#held.splice(0)) {
      resolve();
    }
  }

  #part(after: number): ViewPageResult {
    const toSeq = Math.min(this.seq, after + this.partRows);
    const rows = Array.from({ length: toSeq - after }, (_, at) => ({ id: `e${after + at + 1}` }) as PageRow);
    return { session: {} as ViewPageResult["session"], rows, marks: [], logId: "log-1", toSeq, lastSeq: this.seq };
  }
}

/** Wait until all that can run without a response has run. */
const settled = () => new Promise((done) => setImmediate(done));

test("a session is sent in consecutive parts", async () => {
  const session = new Session();
  session.seq = 5;
  session.feed.begin();
  await settled();
  assert.deepEqual(session.sent, [
    { ids: ["e1", "e2"], first: 0 },
    { ids: ["e3", "e4"], first: 2 },
    { ids: ["e5"], first: 4 },
  ]);
});

test("the feed is complete when the last part is sent, until the document is closed", async () => {
  const session = new Session();
  session.seq = 4;
  session.hold();
  session.feed.begin();
  await settled();
  assert.equal(session.feed.isComplete, false);
  session.release();
  await settled();
  assert.equal(session.feed.isComplete, true);
  session.feed.end();
  assert.equal(session.feed.isComplete, false);
});

test("an empty session is sent, too", async () => {
  const session = new Session();
  session.feed.begin();
  await settled();
  assert.deepEqual(session.sent, [{ ids: [], first: 0 }]);
});

test("appended rows are sent once, however often the feed is updated", async () => {
  const session = new Session();
  session.seq = 2;
  session.feed.begin();
  await settled();
  session.seq = 3;
  session.feed.update();
  session.feed.update();
  await settled();
  session.feed.update();
  await settled();
  assert.deepEqual(
    session.sent.flatMap(({ ids }) => ids),
    ["e1", "e2", "e3"],
  );
});

test("rows appended during a request are requested after it", async () => {
  const session = new Session();
  session.seq = 1;
  session.hold();
  session.feed.begin();
  await settled();
  session.seq = 2;
  session.feed.update();
  session.release();
  await settled();
  assert.deepEqual(session.sent, [
    { ids: ["e1"], first: 0 },
    { ids: ["e2"], first: 1 },
  ]);
});

test("a document that begins again receives no response to an earlier request", async () => {
  const session = new Session();
  session.seq = 4;
  session.feed.begin();
  await settled();
  session.sent.length = 0;
  session.seq = 5;
  session.hold();
  session.feed.update();
  session.feed.begin();
  session.release();
  await settled();
  assert.deepEqual(
    session.sent.map(({ first }) => first),
    [0, 2, 4],
  );
});

test("nothing is requested before a document begins and after it is closed", async () => {
  const session = new Session();
  session.feed.update();
  await settled();
  session.feed.begin();
  session.feed.end();
  session.feed.update();
  await settled();
  assert.deepEqual(session.sent, []);
});

test("after an error, the feed continues after the last row that was sent", async () => {
  const session = new Session();
  session.seq = 2;
  session.feed.begin();
  await settled();
  session.seq = 3;
  session.error = new Error("not attached");
  session.feed.update();
  await settled();
  assert.equal(session.failures.length, 1);
  session.error = undefined;
  session.feed.update();
  await settled();
  assert.deepEqual(session.sent.at(-1), { ids: ["e3"], first: 2 });
});
